/** Answers where a billed shipment comes from: row, line, file, hash, URL, event, workflow run. */

import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { parse } from 'csv-parse';
import type { Archive } from '../../archive/archive.ts';
import type { InvoiceState } from '../../lib/wire/names.ts';
import type { Row } from '../duckdb/statements.ts';
import { openForReading } from '../lake/lake-source.ts';
import type { Proof } from '../warehouse.ts';

export interface Explanation {
  readonly trackingNumber: string;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly state: InvoiceState;
  /** Of this version. */
  readonly proof: Proof;
  /** Who announced the hash that the file has; null: nobody. */
  readonly hashFrom: 'event' | 'regenerate' | null;
  readonly tenant: string;
  readonly carrier: string;
  readonly shipDate: string;
  readonly billingCost: string;
  readonly currencyCode: string;
  /** Record of the file from 1, the header not counted. */
  readonly rowNumber: number;
  /** Physical line of the file from 1; null when the file cannot be read here. */
  readonly line: number | null;
  readonly version: number;
  readonly isCurrent: boolean;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** event, regenerate, export or file. */
  readonly source: string;
  /** The URL without its query, or the name of an imported file. */
  readonly cameFrom: string | null;
  readonly fileHadAt: string | null;
  readonly loadedAt: string;
  readonly eventId: string | null;
  readonly eventTimestamp: string | null;
  readonly eventReceivedAt: string | null;
  /** The hash that this event announced, which need not be the file's. */
  readonly eventSha256: string | null;
  /** The hash of the file as HTTP encoded it, where that was announced; else null. */
  readonly encodedSha256: string | null;
  readonly workflowRunId: string | null;
  readonly voidedAt: string | null;
}

export interface ExplainRequest {
  /** The published copy, opened read-only. */
  readonly databasePath: string;
  /** Where the file's lines can be counted; null: lines are not told. */
  readonly archive: Archive | null;
  readonly trackingNumber: string;
}

/** Of one tracking number; no page or terminal holds more. */
export const MAX_EXPLAINED = 1_000;

/** Every row of every version that carries the tracking number, current ones first; at most `MAX_EXPLAINED`. */
export async function explainTracking(request: ExplainRequest): Promise<readonly Explanation[]> {
  const { databasePath, archive, trackingNumber } = request;
  const database = await openForReading(databasePath, tmpdir());
  try {
    const rows = await database.all('explain-tracking', { tracking_number: trackingNumber });
    const lines = await linesOf(archive, rows);
    return rows.map((row) => ({
      ...toExplanation(trackingNumber, row),
      line: lines.get(String(row.file_sha256))?.get(Number(row.row_number)) ?? null,
    }));
  } finally {
    database.close();
  }
}

async function linesOf(
  archive: Archive | null,
  rows: readonly Row[],
): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  const wanted = new Map<string, Set<number>>();
  for (const row of rows) {
    const sha256 = String(row.file_sha256);
    wanted.set(sha256, (wanted.get(sha256) ?? new Set()).add(Number(row.row_number)));
  }
  const lines = new Map<string, ReadonlyMap<number, number>>();
  for (const [sha256, numbers] of wanted) {
    if (archive === null || (await archive.file(sha256)) === null) continue;
    lines.set(sha256, await countLines(await archive.localPath(sha256), numbers));
  }
  return lines;
}

/** Reads only as far as the last row that is asked for. */
async function countLines(
  csvPath: string,
  numbers: ReadonlySet<number>,
): Promise<ReadonlyMap<number, number>> {
  const lines = new Map<number, number>();
  const last = Math.max(...numbers);
  const input = createReadStream(csvPath);
  const parser = input.pipe(parse({ bom: true, raw: true, record_delimiter: '\r\n', to: last + 1 }));
  let line = 1;
  let record = 0;
  try {
    for await (const { raw } of parser as AsyncIterable<{ raw: string }>) {
      if (numbers.has(record)) lines.set(record, line);
      line += raw.replace(/\r\n$/, '').split('\n').length;
      record += 1;
    }
  } finally {
    input.destroy();
  }
  return lines;
}

function toExplanation(trackingNumber: string, row: Row): Omit<Explanation, 'line'> {
  return {
    trackingNumber,
    invoiceId: String(row.invoice_id),
    invoiceNumber: text(row.invoice_number),
    state: row.state as InvoiceState,
    proof: row.proof as Proof,
    hashFrom: row.hash_from as Explanation['hashFrom'],
    tenant: String(row.tenant),
    carrier: String(row.carrier),
    shipDate: String(row.ship_date),
    billingCost: String(row.billing_cost),
    currencyCode: String(row.currency_code),
    rowNumber: Number(row.row_number),
    version: Number(row.version),
    isCurrent: row.is_current === true,
    sha256: String(row.file_sha256),
    sizeBytes: Number(row.file_size_bytes),
    source: String(row.file_source),
    cameFrom: text(row.came_from),
    fileHadAt: text(row.file_had_at),
    loadedAt: String(row.loaded_at),
    eventId: text(row.event_id),
    eventTimestamp: text(row.event_timestamp),
    eventReceivedAt: text(row.event_received_at),
    eventSha256: text(row.event_sha256),
    encodedSha256: text(row.encoded_sha256),
    workflowRunId: text(row.workflow_run_id),
    voidedAt: text(row.voided_at),
  };
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
