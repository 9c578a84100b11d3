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
import type { FileSource } from '../contract/names.js';
import { isCurrency } from './currencies.js';
import type { Database, Row, Session, Statements } from './database.js';
import { contradictions, deriveInvoice, type InvoiceLines, type LoadLine } from './derive-invoice.js';
import { FileNotArchivedError, LoadedMeanwhileError, LoadLostError, MisreadError } from './errors.js';
import { findBrokenRows } from './find-broken-rows.js';
import { readInvoiceLines, writeInvoices } from './invoice-states.js';
import type { Discrepancy, Proof } from './warehouse.js';

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
  readonly currencyCode: string;
  readonly proof: Proof;
  readonly discrepancies: readonly Discrepancy[];
}

export type FileLoadOutcome =
  | ({ readonly outcome: 'loaded' } & LoadedRows)
  | { readonly outcome: 'voided' }
  | { readonly outcome: 'rejected'; readonly findings: readonly CsvFinding[]; readonly findingCount: number }
  | { readonly outcome: 'contradicted'; readonly discrepancies: readonly Discrepancy[] };

/** Where a load's rows and its line in the ledger lie, and what makes either final. */
export interface LoadPlaces {
  /** Around everything that makes the load count. */
  ledger<T>(session: Session, work: (ledger: Statements) => Promise<T>): Promise<T>;
  /** Around the rows alone, inside the above. */
  rows<T>(session: Session, work: () => Promise<T>): Promise<T>;
}

/** Rows and ledgers in one file: one transaction. */
const ONE_FILE: LoadPlaces = {
  ledger: (session, work) => session.transaction(() => work(session)),
  rows: (_session, work) => work(),
};

/** Up to here one pass is the cheaper form, above it forces one thread (hazard 66). */
const ONE_PASS_ROWS = 100_000;
/** A stage takes about as much memory as 1.7 times its file; with DuckDB's own needs it has to be half of the limit. */
const STAGE_BYTES_PER_FILE_BYTE = 2.5;

/** @throws FileNotArchivedError, LoadedMeanwhileError, LoadLostError, MisreadError, and what DuckDB throws when the disk is full or the file damaged */
export async function loadFile(
  database: Database,
  load: FileLoad,
  places: LoadPlaces = ONE_FILE,
): Promise<FileLoadOutcome> {
  const { scan, sha256, sizeBytes } = load.file;
  const { size } = await stat(load.csvPath);
  if (size !== sizeBytes)
    throw new FileNotArchivedError(sha256, `${size} bytes lie there, ${sizeBytes} were archived`);
  if (scan.findingCount > 0) {
    return { outcome: 'rejected', findings: scan.findings, findingCount: scan.findingCount };
  }
  return database.use((session) => {
    const isLarge = scan.records > ONE_PASS_ROWS;
    if (isLarge && sizeBytes * STAGE_BYTES_PER_FILE_BYTE <= load.memoryBytes) {
      return loadStaged(session, load, places);
    }
    return loadInOnePass(session, load, { places, isSplit: isLarge });
  });
}

async function loadStaged(session: Session, load: FileLoad, places: LoadPlaces): Promise<FileLoadOutcome> {
  try {
    return await attempt(load, async () => {
      await stage(session, load);
      const insert = () => session.all('insert-staged', { load_id: load.loadId });
      return commit(session, load, { places, insert });
    });
  } finally {
    await session.statement('drop table if exists staged_shipments');
  }
}

/**
 * A large file is read in stretches although one thread reads them all: DuckDB lets go of a stretch that is read, while
 * of a file read as a whole it keeps everything that its memory limit allows. Where stretches fail, the whole is read.
 */
async function loadInOnePass(
  session: Session,
  load: FileLoad,
  { places, isSplit }: { readonly places: LoadPlaces; readonly isSplit: boolean },
): Promise<FileLoadOutcome> {
  try {
    return await attempt(load, () => {
      const params = { ...csvParams(load), load_id: load.loadId, in_parallel: isSplit };
      return commit(session, load, { places, insert: () => session.all('insert-one-pass', params) });
    });
  } catch (error) {
    if (!isSplit || !(error instanceof MisreadError)) throw error;
    return loadInOnePass(session, load, { places, isSplit: false });
  }
}

/**
 * Tells a refusal from a failure. What DuckDB does not take is looked at by csv-parse: if that finds nothing wrong, it
 * is DuckDB's reading that failed, not the file.
 *
 * @throws MisreadError the file is good and DuckDB did not read it
 */
async function attempt(load: FileLoad, work: () => Promise<FileLoadOutcome>): Promise<FileLoadOutcome> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    if (!(error instanceof MisreadError) && !isRowError(error)) throw error;
    const outcome = await rejected(load);
    if (outcome.findingCount > 0) return outcome;
    throw new MisreadError(load.invoiceId, error instanceof Error ? error.message : String(error));
  }
}

/** All threads first; one thread when that does not give what it should, since the fault may be in the splitting. */
async function stage(session: Session, load: FileLoad): Promise<void> {
  const inParallel = await stageOnce(session, load, true);
  if (inParallel === 'good') return;
  if (inParallel === 'bad rows') {
    const outcome = await rejected(load);
    if (outcome.findingCount > 0) throw new Refusal(outcome);
  }
  const alone = await stageOnce(session, load, false);
  if (alone !== 'good') throw new MisreadError(load.invoiceId, alone);
}

/** @returns `good`, `bad rows`, or what kept DuckDB from reading the records that the scan counted */
async function stageOnce(session: Session, load: FileLoad, inParallel: boolean): Promise<string> {
  try {
    await session.all('stage', { ...csvParams(load), in_parallel: inParallel });
  } catch (error) {
    if (isRowError(error) && error instanceof Error) return error.message.split('\n')[0] ?? 'unread';
    throw error;
  }
  const { rows, bad_rows, first_row, last_row } = await session.first('stage-summary');
  const records = load.file.scan.records;
  if (Number(rows) !== records) return `the byte scan counted ${records} records, DuckDB read ${rows} rows`;
  if (records > 0 && (Number(first_row) !== 0 || Number(last_row) !== records - 1))
    return 'row ids have gaps';
  return Number(bad_rows) > 0 ? 'bad rows' : 'good';
}

async function commit(
  session: Session,
  load: FileLoad,
  { places, insert }: { readonly places: LoadPlaces; readonly insert: () => Promise<unknown> },
): Promise<FileLoadOutcome> {
  const loaded = await places.ledger(session, async (ledger) => {
    const lines = await readFence(ledger, load);
    const line = await places.rows(session, async () => {
      await insert();
      return checkRows(session, load, lines);
    });
    return insertLoad(ledger, load, { line, lines });
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

/** What the rows amount to. @throws Refusal, MisreadError when that is not what may be loaded */
async function checkRows(session: Session, load: FileLoad, lines: InvoiceLines): Promise<NewLine> {
  const line = await readLine(session, load, lines);
  const unknown = line.currencies.split(',').find((code) => code !== '' && !isCurrency(code));
  // Where it stands is looked up behind the transaction, not while everybody waits for its end.
  if (unknown !== undefined) throw new MisreadError(load.invoiceId, `'${unknown}' is no currency`);
  if (!load.isRepeated) refuseUnproved(load, line, lines);
  return line;
}

/** What the ledgers say inside this transaction: the fence against a void and against a second load of the file. */
async function readFence(ledger: Statements, load: FileLoad): Promise<InvoiceLines> {
  const lines = (await readInvoiceLines(ledger, [load.invoiceId])).get(load.invoiceId) ?? NOTHING;
  if (load.isRepeated) return lines;
  if (deriveInvoice(lines)?.row.state === 'voided') throw new Refusal({ outcome: 'voided' });
  if (lines.loads.some((line) => line.file_sha256 === load.file.sha256)) {
    throw new LoadedMeanwhileError(load.invoiceId, load.file.sha256);
  }
  return lines;
}

const NOTHING: InvoiceLines = { evidence: [], loads: [], attention: [] };

interface NewLine extends LoadLine {
  readonly tenant: string | null;
}

async function insertLoad(
  ledger: Statements,
  load: FileLoad,
  { line, lines }: { readonly line: NewLine; readonly lines: InvoiceLines },
): Promise<LoadedRows> {
  await ledger.all('insert-load', {
    ...line,
    invoice_id: load.invoiceId,
    file_size_bytes: load.file.sizeBytes,
    file_source: load.source,
    event_id: load.eventId,
    workflow_run_id: load.workflowRunId,
  });
  const after = new Map([[load.invoiceId, { ...lines, loads: [...lines.loads, line] }]]);
  const derived = (await writeInvoices(ledger, after)).get(load.invoiceId);
  return {
    version: line.version,
    shipments: line.shipments,
    billingCost: line.billing_cost,
    currencyCode: line.currency_code ?? '',
    proof: derived?.row.proof ?? 'unproved',
    discrepancies: (derived?.discrepancies ?? []).map(({ rule, stated, found }) => ({ rule, stated, found })),
  };
}

/** Reads the inserted rows inside the transaction and holds them against the byte scan. */
async function readLine(session: Session, load: FileLoad, lines: InvoiceLines): Promise<NewLine> {
  const totals = await session.all('load-totals', { load_id: load.loadId });
  const shipments = totals.reduce((sum, total) => sum + Number(total.shipments), 0);
  expectRows(load, { shipments, totals });
  const stated = deriveInvoice(lines)?.row.currency_code ?? null;
  const largest = totals.toSorted((a, b) => Number(b.shipments) - Number(a.shipments))[0];
  const main = totals.find((total) => total.currency_code === stated) ?? largest;
  const sorted = (column: string): string[] => totals.map((total) => String(total[column])).sort();
  return {
    load_id: load.loadId,
    version: load.version ?? Math.max(0, ...lines.loads.map((line) => line.version)) + 1,
    file_sha256: load.file.sha256,
    announced_sha256: load.announcedSha256,
    tenant: sorted('tenant')[0] ?? null,
    shipments,
    billing_cost: main === undefined ? '0.0000' : String(main.billing_cost),
    currency_code: main === undefined ? null : String(main.currency_code),
    currencies: sorted('currency_code').join(','),
    first_ship_date: sorted('first_ship_date')[0] ?? null,
    last_ship_date: sorted('last_ship_date').at(-1) ?? null,
    ends_with_line_end: load.file.scan.endsWithLineEnd,
    loaded_at: load.loadedAt,
  };
}

/**
 * Without an announced hash the header is all that can prove the file (decision: proof). With one, a header that
 * differs is a discrepancy to report, not a reason to withhold what was billed.
 */
function refuseUnproved(load: FileLoad, line: NewLine, lines: InvoiceLines): void {
  if (load.announcedSha256 === load.file.sha256) return;
  const derived = deriveInvoice({ ...lines, loads: [...lines.loads, line] });
  const header = deriveInvoice(lines)?.row;
  if (header !== undefined) {
    const discrepancies = contradictions(header, line).filter(
      ({ rule }) => rule !== 'currency' || header.currency_code !== null,
    );
    if (discrepancies.length > 0) throw new Refusal({ outcome: 'contradicted', discrepancies });
  }
  if (derived?.row.proof === 'unproved' && !line.ends_with_line_end) {
    // The last line may be cut off, and nothing that we know could tell.
    const value = 'the file does not end with CRLF and neither hash nor header proves it';
    const finding = { line: null, row: line.shipments, column: null, rule: 'no-final-line-end', value };
    throw new Refusal({ outcome: 'rejected', findings: [finding], findingCount: 1 });
  }
}

/** The scan is the first reader, DuckDB the second. Unlike counts are our fault or the disk's, never the sender's. */
function expectRows(
  load: FileLoad,
  { shipments, totals }: { readonly shipments: number; readonly totals: readonly Row[] },
): void {
  const { records } = load.file.scan;
  if (shipments !== records) {
    throw new MisreadError(
      load.invoiceId,
      `the byte scan counted ${records} records, DuckDB read ${shipments} rows`,
    );
  }
  const first = Math.min(...totals.map((total) => Number(total.first_row)));
  const last = Math.max(...totals.map((total) => Number(total.last_row)));
  if (first !== 1 || last !== records) {
    throw new MisreadError(load.invoiceId, `rows are numbered ${first} to ${last}, not 1 to ${records}`);
  }
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

/** What DuckDB says when a row does not fit or its reader gave up; disk, memory and damage are not the file's fault. */
function isRowError(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(?:Invalid Input|Conversion|Constraint|Out of Range|Not implemented) Error/.test(error.message)
  );
}

function csvParams(load: FileLoad): { csv_path: string; invoice_id: string } {
  return { csv_path: load.csvPath, invoice_id: load.invoiceId };
}
