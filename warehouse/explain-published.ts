import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { parse } from 'csv-parse';
import type { Archive } from '../archive/archive.ts';
import { uuidOrNull } from '../lib/text.ts';
import type { Decided, Decision, Proof } from '../lib/warehouse-requests.ts';
import type { InvoiceState } from '../lib/wire/names.ts';
import type { Database } from './duckdb/database.ts';
import { camelCase, type Row } from './duckdb/statements.ts';
import { openForReading } from './lake/lake-source.ts';
import { checkDecision } from './ledger/decide.ts';
import { readInvoiceLines } from './ledger/invoice-states.ts';

export interface Explanation {
  readonly trackingNumber: string;
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly state: InvoiceState;
  readonly proof: Proof;
  readonly hashFrom: 'event' | 'regenerate' | null;
  readonly tenant: string;
  readonly carrier: string;
  readonly shipDate: string;
  readonly billingCost: string;
  readonly currencyCode: string;
  /** The number of the row from 1, without the header. */
  readonly rowNumber: number;
  /** The physical line of the file from 1; null when the file is not readable here. */
  readonly line: number | null;
  readonly version: number;
  readonly isCurrent: boolean;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly source: string;
  readonly cameFrom: string | null;
  readonly fileHadAt: string | null;
  readonly loadedAt: string;
  readonly eventId: string | null;
  readonly eventTimestamp: string | null;
  readonly eventReceivedAt: string | null;
  /** The hash that the event announced, possibly that of another file. */
  readonly eventSha256: string | null;
  /** The hash of the file as HTTP encoded it, when that was announced. */
  readonly encodedSha256: string | null;
  readonly workflowRunId: string | null;
  readonly voidedAt: string | null;
}

export interface ExplainRequest {
  readonly databasePath: string;
  readonly archive: Archive | null;
  readonly trackingNumber: string;
}

export const MAX_EXPLAINED = 1_000;

/** Lines of current versions come first; at most `MAX_EXPLAINED` lines are returned. */
export async function explainTracking(request: ExplainRequest): Promise<readonly Explanation[]> {
  const { databasePath, archive, trackingNumber } = request;
  return reading(databasePath, async (database) => {
    const rows = await database.all('explain-tracking', { tracking_number: trackingNumber });
    const lines = await linesOf(archive, rows);
    return rows.map((row) => ({
      trackingNumber,
      ...camelCase<Omit<Explanation, 'line' | 'trackingNumber'>>(row),
      line: lines.get(String(row.sha256))?.get(Number(row.row_number)) ?? null,
    }));
  });
}

async function reading<T>(path: string, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await openForReading(path, tmpdir());
  try {
    return await work(database);
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
    const sha256 = String(row.sha256);
    wanted.set(sha256, (wanted.get(sha256) ?? new Set()).add(Number(row.row_number)));
  }
  const lines = new Map<string, ReadonlyMap<number, number>>();
  for (const [sha256, numbers] of wanted) {
    if (archive === null || (await archive.file(sha256)) === null) continue;
    lines.set(sha256, await countLines(await archive.localPath(sha256), numbers));
  }
  return lines;
}

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

export interface InvoiceVersion {
  readonly loadId: number;
  readonly version: number;
  readonly sha256: string;
  readonly source: string;
  readonly shipments: number;
  readonly billingCost: string;
  readonly currencyCode: string | null;
  readonly loadedAt: string;
  readonly isCurrent: boolean;
}

export interface RowChange {
  readonly change: 'added' | 'removed' | 'changed';
  readonly trackingNumber: string;
  readonly shipDate: string;
  readonly carrier: string;
  readonly serviceLevel: string | null;
  readonly currencyCode: string;
  /** The old cost as exact decimal text; null for an added row. */
  readonly oldBillingCost: string | null;
  readonly newBillingCost: string | null;
}

export interface VersionDiff {
  readonly versions: readonly InvoiceVersion[];
  readonly from: InvoiceVersion | null;
  readonly to: InvoiceVersion | null;
  readonly changes: readonly RowChange[];
}

export interface DiffRequest {
  /** Path of the published copy, or of a warehouse without a writer; it is opened read-only. */
  readonly databasePath: string;
  readonly invoiceId: string;
  readonly from?: number;
  readonly to?: number;
}

export async function diffVersions(request: DiffRequest): Promise<VersionDiff> {
  const invoiceId = uuidOrNull(request.invoiceId);
  const nothing = { versions: [], from: null, to: null, changes: [] };
  if (invoiceId === null) return nothing;
  return reading(request.databasePath, async (database) => {
    const versions = (await database.all('invoice-versions', { invoice_id: invoiceId })).map((row) =>
      camelCase<InvoiceVersion>(row),
    );
    const to = pick(versions, request.to) ?? versions.at(-1) ?? null;
    const before = versions.filter(({ version }) => to !== null && version < to.version);
    const from = pick(versions, request.from) ?? before.at(-1) ?? null;
    if (from === null || to === null) return { ...nothing, versions };
    const rows = await database.all('version-diff', { from_load: from.loadId, to_load: to.loadId });
    return { versions, from, to, changes: rows.map((row) => camelCase<RowChange>(row)) };
  });
}

function pick(versions: readonly InvoiceVersion[], number: number | undefined): InvoiceVersion | undefined {
  return number === undefined ? undefined : versions.find(({ version }) => version === number);
}

export async function dryRunDecision(publishedPath: string, decision: Decision): Promise<Decided> {
  const invoiceId = decision.invoiceId.toLowerCase();
  return reading(publishedPath, async (database) => {
    const lines = await database.use((session) => readInvoiceLines(session, [invoiceId]));
    const now = new Date().toISOString();
    return checkDecision({ ...decision, invoiceId }, lines.get(invoiceId), now).decided;
  });
}
