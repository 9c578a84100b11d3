/**
 * Loads one file into the warehouse: exactly, once, or not at all.
 *
 * Three readers have to agree before a row counts: the byte scan made while the file was downloaded, DuckDB's rows,
 * and the announced hash or the header. Large files are staged (all threads), small ones and those that a stage would
 * not fit in memory for take one pass. The rows, the load's line and the invoice's new state are one transaction; the
 * invoice's own row is the fence against a void and against a second load.
 */

import { stat } from 'node:fs/promises';
import type { ArchivedFile, CsvFinding } from '../contract/csv-file.js';
import { compareDecimals } from '../contract/decimal.js';
import type { FileSource } from '../contract/names.js';
import { isCurrency } from './currencies.js';
import type { Database, Session } from './database.js';
import { FileNotArchivedError, LoadLostError } from './errors.js';
import { findBrokenRows } from './find-broken-rows.js';
import { refreshInvoices } from './take-ledger-lines.js';
import type { Discrepancy } from './warehouse.js';

export interface FileLoad {
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  /** Of the file on this machine. */
  readonly csvPath: string;
  readonly source: FileSource;
  readonly announcedSha256: string | null;
  readonly eventId: string | null;
  readonly workflowRunId: string | null;
  readonly loadId: number;
  /** null: the next one. A rebuild says which it was. */
  readonly version: number | null;
  /** ISO 8601 UTC. */
  readonly loadedAt: string;
  /** A rebuild repeats what was decided then: neither a later void nor a header refuses the rows. */
  readonly isRepeated: boolean;
  /** Bytes that DuckDB may use. */
  readonly memoryBytes: number;
}

export interface LoadedRows {
  readonly version: number;
  readonly shipments: number;
  /** Exact decimal text, of the rows in `currencyCode`. */
  readonly billingCost: string;
}

export type FileLoadOutcome =
  | ({ readonly outcome: 'loaded' } & LoadedRows)
  | { readonly outcome: 'voided' }
  | { readonly outcome: 'rejected'; readonly findings: readonly CsvFinding[]; readonly findingCount: number }
  | { readonly outcome: 'contradicted'; readonly discrepancies: readonly Discrepancy[] };

/** Up to here one pass is the cheaper form, above it forces one thread (hazard 66). */
const ONE_PASS_ROWS = 100_000;
/** A stage takes about as much memory as 1.7 times its file; with DuckDB's own needs it has to be half of the limit. */
const STAGE_BYTES_PER_FILE_BYTE = 2.5;
const DEFAULT_LONGEST_LINE = 2_097_152;

/** @throws FileNotArchivedError, LoadLostError, and what DuckDB throws when the disk is full or the file damaged */
export async function loadFile(database: Database, load: FileLoad): Promise<FileLoadOutcome> {
  const { scan, sha256, sizeBytes } = load.file;
  const { size } = await stat(load.csvPath);
  if (size !== sizeBytes)
    throw new FileNotArchivedError(sha256, `${size} bytes lie there, ${sizeBytes} were archived`);
  if (scan.findingCount > 0) {
    return { outcome: 'rejected', findings: scan.findings, findingCount: scan.findingCount };
  }
  return database.use(async (session) => {
    const isStaged = needsStage(load);
    try {
      if (isStaged && !(await stage(session, load))) return await rejected(load);
      return await commit(session, load, isStaged);
    } catch (error) {
      if (error instanceof Refusal) return error.outcome;
      if (!isRowError(error)) throw error;
      const outcome = await rejected(load);
      if (outcome.findingCount === 0) throw error;
      return outcome;
    } finally {
      if (isStaged) await session.statement('drop table if exists staged_shipments');
    }
  });
}

function needsStage(load: FileLoad): boolean {
  const { scan, sizeBytes } = load.file;
  return scan.records > ONE_PASS_ROWS && sizeBytes * STAGE_BYTES_PER_FILE_BYTE <= load.memoryBytes;
}

/** @returns false when a row is bad */
async function stage(session: Session, load: FileLoad): Promise<boolean> {
  await session.all('stage', csvParams(load));
  const summary = await session.first('stage-summary');
  const rows = Number(summary.rows);
  if (Number(summary.bad_rows) > 0) return false;
  expectRows(load, rows);
  if (rows > 0 && (Number(summary.first_row) !== 0 || Number(summary.last_row) !== rows - 1)) {
    throw new LoadLostError(load.invoiceId, 'row ids of the stage have gaps, row numbers would be wrong');
  }
  return true;
}

async function commit(session: Session, load: FileLoad, isStaged: boolean): Promise<FileLoadOutcome> {
  const loaded = await session.transaction(async () => {
    const [fence] = await session.all('invoice-fence', { invoice_id: load.invoiceId });
    if (fence?.is_voided === true && !load.isRepeated) throw new Refusal({ outcome: 'voided' });
    if (isStaged) await session.all('insert-staged', { load_id: load.loadId });
    else await session.all('insert-one-pass', { ...csvParams(load), load_id: load.loadId });
    const totals = await readTotals(session, load);
    const stated = readStated(fence);
    if (!totals.currencies.every(isCurrency)) throw new Refusal(await rejected(load));
    if (!load.isRepeated) refuseContradiction(load, totals, stated);
    return insertLoad(session, load, totals, stated);
  });
  const found = await session.first('read-back', { load_id: load.loadId });
  if (Number(found.loads) !== 1 || Number(found.shipments) !== loaded.shipments) {
    throw new LoadLostError(
      load.invoiceId,
      `${loaded.shipments} rows were committed, ${found.shipments} are there`,
    );
  }
  return { outcome: 'loaded', ...loaded };
}

async function insertLoad(
  session: Session,
  load: FileLoad,
  totals: Totals,
  stated: Stated,
): Promise<LoadedRows> {
  const next = await session.first('next-version', { invoice_id: load.invoiceId });
  const version = load.version ?? Number(next.version);
  const main = totals.byCurrency.get(stated.currencyCode ?? '') ?? totals.largest;
  await session.all('insert-load', {
    load_id: load.loadId,
    invoice_id: load.invoiceId,
    version,
    file_sha256: load.file.sha256,
    file_size_bytes: load.file.sizeBytes,
    file_source: load.source,
    announced_sha256: load.announcedSha256,
    event_id: load.eventId,
    workflow_run_id: load.workflowRunId,
    tenant: totals.tenant,
    shipments: totals.shipments,
    billing_cost: main?.billingCost ?? '0',
    currency_code: main?.currencyCode ?? null,
    currencies: totals.currencies.join(','),
    first_ship_date: totals.firstShipDate,
    last_ship_date: totals.lastShipDate,
    ends_with_line_end: load.file.scan.endsWithLineEnd,
    loaded_at: load.loadedAt,
  });
  await refreshInvoices(session, [load.invoiceId]);
  return { version, shipments: totals.shipments, billingCost: main?.billingCost ?? '0.0000' };
}

interface CurrencyTotal {
  readonly currencyCode: string;
  readonly shipments: number;
  readonly billingCost: string;
}

interface Totals {
  readonly shipments: number;
  readonly currencies: readonly string[];
  readonly byCurrency: ReadonlyMap<string, CurrencyTotal>;
  readonly largest: CurrencyTotal | null;
  readonly tenant: string | null;
  readonly firstShipDate: string | null;
  readonly lastShipDate: string | null;
}

/** Reads the inserted rows inside the transaction and holds them against the byte scan. */
async function readTotals(session: Session, load: FileLoad): Promise<Totals> {
  const rows = await session.all('load-totals', { load_id: load.loadId });
  const totals = rows.map((row) => ({
    currencyCode: String(row.currency_code),
    shipments: Number(row.shipments),
    billingCost: String(row.billing_cost),
  }));
  const shipments = totals.reduce((sum, total) => sum + total.shipments, 0);
  expectRows(load, shipments);
  const texts = (column: string): string[] => rows.map((row) => String(row[column])).sort();
  return {
    shipments,
    currencies: totals.map((total) => total.currencyCode),
    byCurrency: new Map(totals.map((total) => [total.currencyCode, total])),
    largest: totals.reduce<CurrencyTotal | null>(
      (best, total) => (best === null || total.shipments > best.shipments ? total : best),
      null,
    ),
    tenant: texts('tenant')[0] ?? null,
    firstShipDate: texts('first_ship_date')[0] ?? null,
    lastShipDate: texts('last_ship_date').at(-1) ?? null,
  };
}

interface Stated {
  readonly shipments: number | null;
  readonly total: string | null;
  readonly currencyCode: string | null;
}

function readStated(fence: Readonly<Record<string, unknown>> | undefined): Stated {
  return {
    shipments: typeof fence?.stated_shipments === 'number' ? fence.stated_shipments : null,
    total: typeof fence?.stated_total === 'string' ? fence.stated_total : null,
    currencyCode: typeof fence?.currency_code === 'string' ? fence.currency_code : null,
  };
}

/**
 * Without an announced hash the header is all that can prove the file (decision: proof). With one, a header that
 * differs is a discrepancy to report, not a reason to withhold what was billed.
 */
function refuseContradiction(load: FileLoad, totals: Totals, stated: Stated): void {
  if (load.announcedSha256 === load.file.sha256) return;
  const discrepancies: Discrepancy[] = [];
  const shipments = totals.shipments;
  if (stated.shipments !== null && stated.shipments !== shipments) {
    discrepancies.push({ rule: 'shipment-count', stated: `${stated.shipments}`, found: `${shipments}` });
  }
  if (stated.currencyCode !== null && totals.currencies.join(',') !== stated.currencyCode && shipments > 0) {
    discrepancies.push({ rule: 'currency', stated: stated.currencyCode, found: totals.currencies.join(',') });
  }
  const main = totals.byCurrency.get(stated.currencyCode ?? '') ?? totals.largest;
  const found = main?.billingCost ?? '0.0000';
  if (stated.total !== null && compareDecimals(stated.total, found) !== 0) {
    discrepancies.push({ rule: 'total-amount', stated: stated.total, found });
  }
  if (discrepancies.length > 0) throw new Refusal({ outcome: 'contradicted', discrepancies });
  const isProved = stated.shipments !== null && stated.total !== null;
  if (!isProved && !load.file.scan.endsWithLineEnd) {
    // The last line may be cut off, and nothing that we know could tell.
    const value = 'the file does not end with CRLF and neither hash nor header proves it';
    const finding = { line: null, row: totals.shipments, column: null, rule: 'no-final-line-end', value };
    throw new Refusal({ outcome: 'rejected', findings: [finding], findingCount: 1 });
  }
}

/** The scan is the first reader, DuckDB the second. Unlike counts are our fault or the disk's, never the sender's. */
function expectRows(load: FileLoad, rows: number): void {
  if (rows === load.file.scan.records) return;
  throw new LoadLostError(
    load.invoiceId,
    `the byte scan counted ${load.file.scan.records} records, DuckDB read ${rows} rows`,
  );
}

async function rejected(load: FileLoad): Promise<FileLoadOutcome & { readonly outcome: 'rejected' }> {
  const { findings, findingCount } = await findBrokenRows(load.csvPath, load.invoiceId);
  return { outcome: 'rejected', findings, findingCount };
}

/** Ends the transaction with a rollback and carries the answer out of it. */
class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly outcome: FileLoadOutcome;

  constructor(outcome: FileLoadOutcome) {
    super(outcome.outcome);
    this.outcome = outcome;
  }
}

/** What DuckDB says when a row does not fit; everything else (disk, memory, damage) is not the file's fault. */
function isRowError(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(?:Invalid Input|Conversion|Constraint|Out of Range) Error/.test(error.message)
  );
}

function csvParams(load: FileLoad): { csv_path: string; longest_line: number; invoice_id: string } {
  return {
    csv_path: load.csvPath,
    longest_line: Math.max(DEFAULT_LONGEST_LINE, load.file.scan.longestRecordBytes + 2),
    invoice_id: load.invoiceId,
  };
}
