/**
 * Three readers have to agree before a row counts: the byte scan, DuckDB's rows, and the announced hash or the header. A small
 * file is loaded in a batch, since planning and committing cost more than its rows; a large one is read by all threads in chunks.
 */

import { stat } from 'node:fs/promises';
import { printable } from '../../lib/text.ts';
import type { CheckOutcome, FileLoadOutcome, Rejection } from '../../lib/warehouse-requests.ts';
import { hasAllColumns, isOfOtherForm, isSpecified } from '../../lib/wire/csv-file.ts';
import { RECORDS_PER_CUT } from '../../lib/wire/csv-scanner.ts';
import type { Database } from '../duckdb/database.ts';
import type { Session } from '../duckdb/session.ts';
import { isRowError, type Row } from '../duckdb/statements.ts';
import { isWarehouseError, WarehouseError } from '../errors.ts';
import { type Chunks, cutIntoChunks, numberChunks, tolerate } from './chunks.ts';
import { commitLoad, commitLoads, readTotals } from './commit-load.ts';
import {
  type FileLoad,
  type LoadTransactions,
  Refusal,
  refusedByCells,
  refusedByScan,
} from './rejections.ts';

export const ONE_FILE: LoadTransactions = {
  ledger: (session, work) => session.transaction(() => work(session)),
  rows: (_session, work) => work(),
};

/** @throws file-not-archived, loaded-meanwhile, load-lost, misread, and errors of DuckDB or the system (disk full, damage) */
export function loadFile(
  database: Database,
  load: FileLoad,
  transactions: LoadTransactions = ONE_FILE,
): Promise<FileLoadOutcome> {
  return readFile<FileLoadOutcome>(database, load, {
    verb: 'insert',
    finish: (session, of, insert) =>
      commitLoad(session, of, {
        transactions,
        async insert() {
          await insert();
          return readTotals((sql, params) => session.all(sql, params), 'shipment_rows', [of]);
        },
      }),
  });
}

/** Into a temporary table; writes nothing. @param check returns the outcome by the totals of the rows, or throws Refusal */
export function stageFile(
  database: Database,
  load: FileLoad,
  check: (load: FileLoad, totals: readonly Row[]) => CheckOutcome,
): Promise<CheckOutcome> {
  return readFile<CheckOutcome>(database, load, {
    verb: 'stage',
    async finish(session, of, stage) {
      if (of.file.scan.records === 0) return check(of, []);
      try {
        await stage();
        return check(of, await readTotals((sql, params) => session.once(sql, params), 'staged_rows', [of]));
      } finally {
        await dropStagedRows(session);
      }
    },
  });
}

interface Reading<Outcome> {
  readonly verb: 'insert' | 'stage';
  readonly finish: (session: Session, load: FileLoad, read: () => Promise<void>) => Promise<Outcome>;
}

async function readFile<Outcome extends CheckOutcome>(
  database: Database,
  load: FileLoad,
  reading: Reading<Outcome>,
): Promise<Outcome | FileLoadOutcome> {
  const { scan, sha256, sizeBytes } = load.file;
  const { size } = await stat(load.csvPath);
  if (size !== sizeBytes)
    throw new WarehouseError('file-not-archived', [
      sha256,
      `it has ${size} bytes, ${sizeBytes} were archived`,
    ]);
  try {
    if (!isSpecified(scan)) {
      const tolerated = isOfOtherForm(scan) ? await readTolerated(database, load, reading) : null;
      return tolerated ?? (await refusedByScan(load));
    }
    const outcome = await readSpecified(database, load, reading);
    const needsDecimals = 'neededTolerances' in outcome && outcome.neededTolerances?.includes('decimals');
    if (needsDecimals !== true) return outcome;
    return (await readTolerated(database, load, reading)) ?? outcome;
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    throw error;
  }
}

/** Looks for the broken cells of a file that DuckDB refuses. If csv-parse finds none, DuckDB misread the file. @throws misread */
async function readSpecified<Outcome>(
  database: Database,
  load: FileLoad,
  reading: Reading<Outcome>,
): Promise<Outcome | Rejection> {
  try {
    return load.file.scan.records > recordsPerCut(load)
      ? await readInChunks(database, load, reading)
      : await readInOnePass(database, load, reading);
  } catch (error) {
    const isMisread = isWarehouseError(error, 'misread');
    if (!isMisread && !isRowError(error)) throw error;
    // DuckDB's message contains the whole line, which may have two million bytes.
    const message = printable(error.message, 300);
    const outcome = await refusedByCells(load, isMisread ? null : `DuckDB reported: ${message}`);
    if (outcome.findingCount > 0) return outcome;
    throw isMisread ? error : new WarehouseError('misread', [load.invoiceId, message]);
  }
}

function readInOnePass<Outcome>(
  database: Database,
  load: FileLoad,
  { verb, finish }: Reading<Outcome>,
): Promise<Outcome> {
  const params = { csv_path: load.csvPath, invoice_id: load.invoiceId, load_id: load.loadId };
  return database.use((session) =>
    finish(session, load, async () => {
      await session.all(`${verb}-one-pass`, params);
    }),
  );
}

async function readInChunks<Outcome>(
  database: Database,
  load: FileLoad,
  reading: Reading<Outcome>,
): Promise<Outcome> {
  const chunks = await cutIntoChunks(load.csvPath, load.file, database.temporaryFolder);
  return readChunks(database, load, { ...reading, chunks, statement: `${reading.verb}-chunks` });
}

/** @returns null: the file has another fault than its form, or a form that is not tolerated */
async function readTolerated<Outcome>(
  database: Database,
  load: FileLoad,
  reading: Reading<Outcome>,
): Promise<Outcome | Rejection | null> {
  const read = await tolerate(load, load.tolerances, database.temporaryFolder);
  if (read === null || 'outcome' in read) return read;
  const tolerated = { ...load, file: { ...load.file, scan: read.scan } };
  const { chunks } = read;
  return readChunks(database, tolerated, { ...reading, chunks, statement: `${reading.verb}-tolerated` });
}

async function readChunks<Outcome>(
  database: Database,
  load: FileLoad,
  {
    finish,
    chunks: { folder, count, discard },
    statement,
  }: Reading<Outcome> & { readonly chunks: Chunks; readonly statement: string },
): Promise<Outcome> {
  try {
    return await database.use(async (session) => {
      await session.script(numberChunks(count, recordsPerCut(load)));
      return finish(session, load, async () => {
        if (count === 0) return;
        const { loadId, invoiceId } = load;
        const params = { load_id: loadId, folder, chunks: count, invoice_id: invoiceId };
        // Planned each time: a kept plan would continue the sequences of an earlier load.
        await session.once(statement, params);
        expectWholeChunks(load, await session.once('select unnest(last_rows())::integer as last_row'));
      });
    });
  } finally {
    await discard();
  }
}

function recordsPerCut(load: FileLoad): number {
  return load.recordsPerCut ?? RECORDS_PER_CUT;
}

/** With the last row number of each chunk and the total right, no chunk has a row too many or too few. */
function expectWholeChunks(load: FileLoad, found: readonly Row[]): void {
  const { records } = load.file.scan;
  for (const [number, { last_row: lastRow }] of found.entries()) {
    const expected = Math.min((number + 1) * recordsPerCut(load), records);
    if (Number(lastRow) !== expected) {
      const problem = `chunk ${number} ends with row ${lastRow}, not ${expected}`;
      throw new WarehouseError('misread', [load.invoiceId, problem]);
    }
  }
}

const SMALL_RECORDS = 20_000;
export const BATCH_RECORDS = 100_000;
export const BATCH_FILES = 200;

export function isSmall({ file: { scan } }: Pick<FileLoad, 'file'>): boolean {
  return scan.findingCount === 0 && hasAllColumns(scan) && scan.records <= SMALL_RECORDS;
}

/**
 * Explains no refusal. @param loads of different invoices @returns in their order; null: the file has to be loaded alone
 * @throws DuckDB's error for a file that it cannot read; nothing was loaded then
 */
export function loadBatch(
  database: Database,
  loads: readonly FileLoad[],
  transactions: LoadTransactions,
): Promise<readonly (FileLoadOutcome | null)[]> {
  return database.use(async (session) => {
    try {
      return await loadStaged(session, loads, transactions);
    } finally {
      await dropStagedRows(session);
    }
  });
}

async function dropStagedRows(session: Session): Promise<void> {
  await session.statement('drop table if exists staged_rows');
}

async function loadStaged(
  session: Session,
  loads: readonly FileLoad[],
  transactions: LoadTransactions,
): Promise<readonly (FileLoadOutcome | null)[]> {
  // Rising load ids keep the row groups of a load close to each other.
  const staged = loads.toSorted((a, b) => a.loadId - b.loadId);
  // Planned each time: the files are part of the plan.
  await session.once('stage-batch', { files: JSON.stringify(stagedFiles(staged)) });
  const bad = await session.all('select distinct load_id from staged_rows where not row_is_good');
  const broken = new Set(bad.map((row) => Number(row.load_id)));
  const sound = staged.filter(({ loadId }) => !broken.has(loadId));
  const outcomes = await commitLoads(session, sound, {
    transactions,
    totals: await readTotals((sql, params) => session.once(sql, params), 'staged_rows', staged),
    insert: (good) =>
      session.once('insert-batch', { load_ids: `[${good.map(({ loadId }) => loadId).join(', ')}]` }),
  });
  const byId = new Map(sound.map(({ loadId }, index) => [loadId, outcomes[index] ?? null]));
  return loads.map(({ loadId }) => byId.get(loadId) ?? null);
}

function stagedFiles(loads: readonly FileLoad[]) {
  let rowsBefore = 0;
  return loads.map(({ loadId, csvPath, invoiceId, file }) => {
    const staged = { load_id: loadId, csv_path: csvPath, invoice_id: invoiceId, rows_before: rowsBefore };
    rowsBefore += file.scan.records;
    return staged;
  });
}
