/** `billsync explain`: from a tracking number back to the line, file, hash, URL, event and workflow run it came by. */

import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { openArchive } from '../../archive/open-archive.js';
import { NotPublishedError } from '../../reports/errors.js';
import type { Explanation } from '../../warehouse/trace/explain.js';
import { checkEnvironment } from '../environment-check.js';
import { CliError, EXIT } from '../errors.js';
import { paint, printable } from '../terminal/terminal-text.js';
import { contextOf, verb, withJson } from '../verb.js';

export function explainCommand(): Command {
  const command = verb(
    'explain <tracking-number>',
    'Tells where a billed shipment comes from: row, line, file, hash, source of the URL, event, workflow run.',
    'billsync explain 1Z999AA10123456784',
  );
  return withJson(command).action(async (trackingNumber: string, _flags: unknown, command: Command) => {
    const { settings, output } = contextOf(command);
    await checkEnvironment(settings);
    const { publishedPath } = await import('../published.js');
    const databasePath = publishedPath(settings);
    if (!existsSync(databasePath)) throw new NotPublishedError(databasePath);
    const { explainTracking, MOST_EXPLAINED } = await import('../../warehouse/trace/explain.js');
    const archive = await openArchive(settings);
    const found = await explainTracking({ databasePath, archive, trackingNumber }).finally(() =>
      archive.close(),
    );
    if (found.length === 0) {
      throw new CliError(
        EXIT.nothingMatched,
        `no shipment has the tracking number ${printable(trackingNumber)}`,
        {
          hint: 'it is matched letter by letter, as the carrier wrote it',
        },
      );
    }
    output.thing(found.map(asJson), () => found.map(describe).join('\n\n'));
    if (found.length === MOST_EXPLAINED) {
      output.note(`There may be more than these ${MOST_EXPLAINED} rows; \`billsync sql\` counts them all.`);
    }
  });
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

const PROVED = {
  header: 'proved by the count and sum that its invoice states',
  unproved: 'unproved: nobody told its hash, or its count and sum',
} as const;

const HASH_FROM = {
  event: 'proved by the hash that its event announced',
  regenerate: 'proved by the hash that the service told when it made a new URL',
} as const;

function provedBy({ proof, hashFrom }: Explanation): string {
  if (proof !== 'hash') return PROVED[proof];
  return HASH_FROM[hashFrom ?? 'regenerate'];
}

function eventOf(row: Explanation): string {
  const { eventId, eventReceivedAt } = row;
  return eventId === null ? 'none' : `${eventId}, received ${eventReceivedAt ?? '–'}${announcedBeside(row)}`;
}

/** What the event announced, where that is not the hash of the file itself. */
function announcedBeside({ eventSha256, encodedSha256, sha256 }: Explanation): string {
  if (eventSha256 === null || eventSha256 === sha256) return '';
  if (eventSha256 === encodedSha256) return `; it announced the compressed form of the file, ${eventSha256}`;
  return `; it announced another file, ${eventSha256}`;
}

function describe(row: Explanation): string {
  const counts =
    row.voidedAt !== null
      ? `voided ${row.voidedAt}`
      : row.isCurrent
        ? 'counts'
        : 'replaced by a newer version';
  const line = row.line === null ? 'the file is not at hand' : `line ${row.line}`;
  const facts: readonly (readonly [string, string])[] = [
    ['shipment', `${row.billingCost} ${row.currencyCode}, ${row.carrier}, ${row.shipDate}, ${row.tenant}`],
    [
      'invoice',
      `${row.invoiceNumber ?? '–'} (${row.invoiceId}), ${row.state}, version ${row.version}: ${counts}`,
    ],
    ['row', `${row.rowNumber} of the file, ${line}`],
    ['file', `${row.sha256}, ${row.sizeBytes} bytes, ${provedBy(row)}`],
    [
      'came from',
      `${row.cameFrom ?? 'the export of the service'} (${row.source}) at ${row.fileHadAt ?? '–'}`,
    ],
    ['event', eventOf(row)],
    ['loaded', `${row.loadedAt}, workflow run ${row.workflowRunId ?? 'none'}`],
  ];
  const title = paint('bold', printable(row.trackingNumber));
  return [title, ...facts.map(([name, value]) => `  ${name.padEnd(10)} ${printable(value)}`)].join('\n');
}
