/**
 * Loads one file into the warehouse: exactly, once, or not at all.
 *
 * Three readers have to agree before a row counts: the byte scan made while the file was downloaded, DuckDB's rows,
 * and the announced hash or the header. Large files are staged (all threads), small ones and those that a stage would
 * not fit in memory for take one pass. The rows, the load's line and the invoice's new state are one transaction; the
 * invoice's own row is the fence against a void and against a second load.
 */

import { stat } from 'node:fs/promises';
import { commitLoad, spanOf } from './commit-load.js';
import type { Database } from './database.js';
import { FileNotArchivedError, MisreadError } from './errors.js';
import type { FileLoad, LoadPlaces } from './file-load.js';
import { isRowError, Refusal, refusedByCells, refusedByScan } from './refusal.js';
import type { Session } from './session.js';
import type { Params } from './statements.js';
import type { FileLoadOutcome } from './warehouse.js';

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
  if (scan.findingCount > 0) return refusedByScan(load);
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
      return commitLoad(session, load, {
        places,
        async insert() {
          await session.all('insert-staged', { load_id: load.loadId });
          return session.all('load-totals', spanOf([load]));
        },
      });
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
    return await attempt(load, () =>
      commitLoad(session, load, {
        places,
        async insert() {
          await session.all('insert-one-pass', onePassParams(load, isSplit));
          return session.all('load-totals', spanOf([load]));
        },
      }),
    );
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
    const outcome = await refusedByCells(load);
    if (outcome.findingCount > 0) return outcome;
    throw new MisreadError(load.invoiceId, error instanceof Error ? error.message : String(error));
  }
}

/** All threads first; one thread when that does not give what it should, since the fault may be in the splitting. */
async function stage(session: Session, load: FileLoad): Promise<void> {
  const inParallel = await stageOnce(session, load, true);
  if (inParallel === 'good') return;
  if (inParallel === 'bad rows') {
    const outcome = await refusedByCells(load);
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

export function onePassParams(load: FileLoad, isSplit: boolean): Params {
  return { ...csvParams(load), load_id: load.loadId, in_parallel: isSplit };
}

function csvParams(load: FileLoad): { csv_path: string; invoice_id: string } {
  return { csv_path: load.csvPath, invoice_id: load.invoiceId };
}
