/**
 * Loads one file into the warehouse: exactly, once, or not at all.
 *
 * Three readers have to agree before a row counts: the byte scan made while the file was downloaded, DuckDB's rows,
 * and the announced hash or the header. A small file is read by one thread, a larger one by all of them, in chunks. The
 * rows, the load's line and the invoice's new state are one transaction; the invoice's own row is the fence against a
 * void and against a second load.
 */

import { stat } from 'node:fs/promises';
import { isOfOtherForm, isSpecified } from '../../lib/wire/csv-file.ts';
import { RECORDS_PER_CUT } from '../../lib/wire/csv-scanner.ts';
import { printable } from '../../lib/wire/text.ts';
import type { Database } from '../duckdb/database.ts';
import { isRowError } from '../duckdb/row-error.ts';
import type { Session } from '../duckdb/session.ts';
import type { Params, Row } from '../duckdb/statements.ts';
import { FileNotArchivedError, MisreadError } from '../errors.ts';
import type { FileLoadOutcome } from '../warehouse.ts';
import { type Chunks, cutIntoChunks, numberChunks } from './chunks.ts';
import { commitLoad, readTotals } from './commit-load.ts';
import type { FileLoad, LoadPlaces } from './file-load.ts';
import { Refusal, refusedByCells, refusedByScan } from './refusal.ts';
import { tolerate } from './tolerate.ts';

/** Rows and ledgers in one file: one transaction. */
export const ONE_FILE: LoadPlaces = {
  ledger: (session, work) => session.transaction(() => work(session)),
  rows: (_session, work) => work(),
};

/** @throws FileNotArchivedError, LoadedMeanwhileError, LoadLostError, MisreadError, and what DuckDB or the system throws when the disk is full or the file damaged */
export async function loadFile(
  database: Database,
  load: FileLoad,
  places: LoadPlaces = ONE_FILE,
): Promise<FileLoadOutcome> {
  const { scan, sha256, sizeBytes } = load.file;
  const { size } = await stat(load.csvPath);
  if (size !== sizeBytes)
    throw new FileNotArchivedError(sha256, `${size} bytes lie there, ${sizeBytes} were archived`);
  if (!isSpecified(scan)) {
    const tolerated = isOfOtherForm(scan) ? await loadTolerated(database, load, places) : null;
    return tolerated ?? refusedByScan(load);
  }
  const outcome = await attempt(load, () =>
    scan.records > perCut(load)
      ? loadChunks(database, load, places)
      : database.use((session) =>
          loadRows(session, load, {
            places,
            insert: () => session.all('insert-one-pass', onePassParams(load)),
          }),
        ),
  );
  if (outcome.outcome !== 'rejected' || outcome.wants?.includes('decimals') !== true) return outcome;
  return (await loadTolerated(database, load, places)) ?? outcome;
}

/** null when it is not the form of the file that is wrong, or not one that is tolerated. */
async function loadTolerated(
  database: Database,
  load: FileLoad,
  places: LoadPlaces,
): Promise<FileLoadOutcome | null> {
  const read = await tolerate(load, load.tolerances, database.temporaryFolder);
  if (read === null || 'outcome' in read) return read;
  const file = { ...load.file, scan: read.scan };
  return insertChunks(database, { ...load, file }, { places, ...read, statement: 'insert-tolerated' });
}

/** All threads read, each a chunk of its own. */
async function loadChunks(database: Database, load: FileLoad, places: LoadPlaces): Promise<FileLoadOutcome> {
  const file = { ...load.file, recordsPerCut: perCut(load) };
  const chunks = await cutIntoChunks(load.csvPath, file, database.temporaryFolder);
  return insertChunks(database, load, { places, chunks, statement: 'insert-chunks' });
}

interface Insertion {
  readonly places: LoadPlaces;
  readonly chunks: Chunks;
  readonly statement: 'insert-chunks' | 'insert-tolerated';
}

async function insertChunks(
  database: Database,
  load: FileLoad,
  { places, chunks, statement }: Insertion,
): Promise<FileLoadOutcome> {
  const { folder, count, discard } = chunks;
  try {
    const insertAll = async (session: Session) => {
      await session.script(numberChunks(count, perCut(load)));
      return loadRows(session, load, {
        places,
        async insert() {
          if (count === 0) return;
          const { loadId, invoiceId } = load;
          // Planned anew: a plan that was kept would count along the sequences of an earlier load.
          const params = { load_id: loadId, folder, chunks: count, invoice_id: invoiceId };
          await session.once(statement, params);
          expectWholeChunks(load, await session.once('select unnest(last_rows())::integer as last_row'));
        },
      });
    };
    return await database.use(insertAll);
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    throw error;
  } finally {
    await discard();
  }
}

function perCut({ recordsPerCut = RECORDS_PER_CUT }: FileLoad): number {
  return recordsPerCut;
}

/** Each chunk ends where the next begins, so that with their sum right none has a row too many or too few. */
function expectWholeChunks(load: FileLoad, found: readonly Row[]): void {
  const { records } = load.file.scan;
  for (const [number, { last_row: lastRow }] of found.entries()) {
    const expected = Math.min((number + 1) * perCut(load), records);
    if (Number(lastRow) !== expected) {
      throw new MisreadError(load.invoiceId, `chunk ${number} ends with row ${lastRow}, not ${expected}`);
    }
  }
}

function loadRows(
  session: Session,
  load: FileLoad,
  { places, insert }: { readonly places: LoadPlaces; readonly insert: () => Promise<unknown> },
): Promise<FileLoadOutcome> {
  return commitLoad(session, load, {
    places,
    async insert() {
      await insert();
      return readTotals((sql, params) => session.all(sql, params), 'shipment_rows', [load]);
    },
  });
}

/**
 * Tells a refusal from a failure. What DuckDB does not take is looked at by csv-parse: if that finds nothing wrong, it
 * is DuckDB's reading that failed, not the file. The connection has been given back by then, since looking takes its time.
 *
 * @throws MisreadError the file is good and DuckDB did not read it
 */
async function attempt(load: FileLoad, work: () => Promise<FileLoadOutcome>): Promise<FileLoadOutcome> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    const isMisread = error instanceof MisreadError;
    if (!isMisread && !isRowError(error)) throw error;
    // DuckDB shows the whole line, which may have two million bytes.
    const said = printable(error.message, 300);
    const outcome = await refusedByCells(load, isMisread ? null : `DuckDB said: ${said}`);
    if (outcome.findingCount > 0) return outcome;
    throw isMisread ? error : new MisreadError(load.invoiceId, said);
  }
}

function onePassParams(load: FileLoad): Params {
  return { csv_path: load.csvPath, invoice_id: load.invoiceId, load_id: load.loadId };
}
