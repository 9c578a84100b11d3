import type { Settings } from '../lib/config/settings.ts';
import type { Explanation } from '../warehouse/explain-published.ts';

export async function explainPublished(
  settings: Settings,
  trackingNumber: string,
): Promise<readonly Explanation[]> {
  const { openArchive } = await import('../archive/open-archive.ts');
  const { explainTracking } = await import('../warehouse/explain-published.ts');
  const { publishedPath } = await import('./published.ts');
  const archive = await openArchive(settings);
  const request = { databasePath: publishedPath(settings), archive, trackingNumber };
  return explainTracking(request).finally(() => archive.close());
}

const PROOFS = {
  hash: 'proved by the hash that the service gave with a new URL',
  announced: 'announced by an event; the service has not confirmed its hash yet',
  header: 'proved by the count and sum of its invoice',
  accepted:
    'unproved: a spreadsheet seems to have changed its cells, which the user who imported it accepted',
  unproved: 'unproved: neither its hash nor its count and sum were announced',
} as const;

function eventOf(row: Explanation): string {
  const { eventId, eventReceivedAt } = row;
  return eventId === null ? 'none' : `${eventId}, received ${eventReceivedAt ?? '–'}${announcedBeside(row)}`;
}

function announcedBeside({ eventSha256, encodedSha256, sha256 }: Explanation): string {
  if (eventSha256 === null || eventSha256 === sha256) return '';
  if (eventSha256 === encodedSha256) return `; it announced the compressed form of the file, ${eventSha256}`;
  return `; it announced another file, ${eventSha256}`;
}

export function factsOf(row: Explanation): readonly (readonly [string, string])[] {
  const counts =
    row.voidedAt !== null
      ? `voided ${row.voidedAt}`
      : row.isCurrent
        ? 'counts'
        : 'replaced by a newer version';
  const line = row.line === null ? 'the file is not available' : `line ${row.line}`;
  return [
    ['shipment', `${row.billingCost} ${row.currencyCode}, ${row.carrier}, ${row.shipDate}, ${row.tenant}`],
    [
      'invoice',
      `${row.invoiceNumber ?? '–'} (${row.invoiceId}), ${row.state}, version ${row.version}: ${counts}`,
    ],
    ['row', `${row.rowNumber} of the file, ${line}`],
    ['file', `${row.sha256}, ${row.sizeBytes} bytes, ${PROOFS[row.proof]}`],
    [
      'came from',
      `${row.cameFrom ?? 'the export of the service'} (${row.source}) at ${row.fileHadAt ?? '–'}`,
    ],
    ['event', eventOf(row)],
    ['loaded', `${row.loadedAt}, workflow run ${row.workflowRunId ?? 'none'}`],
  ];
}

export function explanationsAsJson(rows: readonly Explanation[]) {
  return rows.map(asJson);
}

function asJson(row: Explanation) {
  return {
    tracking_number: row.trackingNumber,
    invoice_id: row.invoiceId,
    invoice_number: row.invoiceNumber,
    state: row.state,
    proof: row.proof,
    hash_from: row.hashFrom,
    tenant: row.tenant,
    carrier: row.carrier,
    ship_date: row.shipDate,
    billing_cost: row.billingCost,
    currency_code: row.currencyCode,
    row_number: row.rowNumber,
    line: row.line,
    version: row.version,
    is_current: row.isCurrent,
    file_sha256: row.sha256,
    file_size_bytes: row.sizeBytes,
    file_source: row.source,
    came_from: row.cameFrom,
    file_had_at: row.fileHadAt,
    loaded_at: row.loadedAt,
    event_id: row.eventId,
    event_timestamp: row.eventTimestamp,
    event_received_at: row.eventReceivedAt,
    event_sha256: row.eventSha256,
    encoded_sha256: row.encodedSha256,
    workflow_run_id: row.workflowRunId,
    voided_at: row.voidedAt,
  };
}
