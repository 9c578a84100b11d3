/**
 * Loads one file into the warehouse: exactly, once, or not at all.
 *
 * Three readers have to agree before a row counts: the byte scan made while the file was downloaded, DuckDB's rows,
 * and the announced hash or the header. A small file is read by one thread, a larger one by all of them, in chunks. The
 * rows, the load's line and the invoice's new state are one transaction; the invoice's own row is the fence against a
 * void and against a second load.
 */

import { stat } from 'node:fs/promises';
import { GroupCommit } from '../../lib/group-commit.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { hasAllColumns, isOfOtherForm, isSpecified } from '../../lib/wire/csv-file.ts';
import { RECORDS_PER_CUT } from '../../lib/wire/csv-scanner.ts';
import { printable } from '../../lib/wire/text.ts';
import type { Database } from '../duckdb/database.ts';
import type { Session } from '../duckdb/session.ts';
import { isRowError, type Params, type Row } from '../duckdb/statements.ts';
import { isWarehouseError, WarehouseError } from '../errors.ts';
import type { FileLoadOutcome, LoadOutcome } from '../warehouse.ts';
import { type Chunks, cutIntoChunks, numberChunks, tolerate } from './chunks.ts';
import { commitLoad, commitLoads, readTotals } from './commit-load.ts';
import { type FileLoad, type LoadPlaces, Refusal, refusedByCells, refusedByScan } from './file-load.ts';

/** Rows and ledgers in one file: one transaction. */
export const ONE_FILE: LoadPlaces = {
  ledger: (session, work) => session.transaction(() => work(session)),
  rows: (_session, work) => work(),
};

/** @throws file-not-archived, loaded-meanwhile, load-lost, misread, and what DuckDB or the system throws when the disk is full or the file damaged */
export async function loadFile(
  database: Database,
  load: FileLoad,
  places: LoadPlaces = ONE_FILE,
): Promise<FileLoadOutcome> {
  const { scan, sha256, sizeBytes } = load.file;
  const { size } = await stat(load.csvPath);
  if (size !== sizeBytes)
    throw new WarehouseError('file-not-archived', [
      sha256,
      `${size} bytes lie there, ${sizeBytes} were archived`,
    ]);
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
      throw new WarehouseError('misread', [
        load.invoiceId,
        `chunk ${number} ends with row ${lastRow}, not ${expected}`,
      ]);
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
 * @throws misread the file is good and DuckDB did not read it
 */
async function attempt(load: FileLoad, work: () => Promise<FileLoadOutcome>): Promise<FileLoadOutcome> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return error.outcome;
    const isMisread = isWarehouseError(error, 'misread');
    if (!isMisread && !isRowError(error)) throw error;
    // DuckDB shows the whole line, which may have two million bytes.
    const said = printable(error.message, 300);
    const outcome = await refusedByCells(load, isMisread ? null : `DuckDB said: ${said}`);
    if (outcome.findingCount > 0) return outcome;
    throw isMisread ? error : new WarehouseError('misread', [load.invoiceId, said]);
  }
}

function onePassParams(load: FileLoad): Params {
  return { csv_path: load.csvPath, invoice_id: load.invoiceId, load_id: load.loadId };
}

/*  * Loads several small files at once: one statement reads and checks all of them into a temporary table, each is checked by
 * its own rows, and one transaction makes all of those count that may be loaded. Planning and committing cost a small
 * invoice more than its rows do.
 *
 * It knows no diagnosis: a file that has to be looked at leaves the batch and is loaded alone.
 */

/** A file with more records than this gains nothing by company. */
const SMALL_RECORDS = 20_000;
/** Of all files of a batch: they are staged in memory. */
const BATCH_RECORDS = 100_000;
const BATCH_FILES = 200;

/** Whether a file may be one of a batch: the scan has nothing against it. */
export function isSmall({ file: { scan } }: Pick<FileLoad, 'file'>): boolean {
  return scan.findingCount === 0 && hasAllColumns(scan) && scan.records <= SMALL_RECORDS;
}

/**
 * @param loads of different invoices, by rising load id
 * @returns in their order; null: the file has to be loaded alone
 * @throws what DuckDB says of a file that it cannot read, of whichever; then nothing was loaded
 */
export async function loadBatch(
  database: Database,
  loads: readonly FileLoad[],
  places: LoadPlaces = ONE_FILE,
): Promise<readonly (FileLoadOutcome | null)[]> {
  return database.use((session) => loadStaged(session, loads, places));
}

async function loadStaged(
  session: Session,
  loads: readonly FileLoad[],
  places: LoadPlaces,
): Promise<readonly (FileLoadOutcome | null)[]> {
  try {
    // Planned anew: the files are part of the plan.
    await session.once('stage-batch', { files: JSON.stringify(filesOf(loads)) });
    const bad = await session.all('select distinct load_id from staged_rows where not row_is_good');
    const broken = new Set(bad.map((row) => Number(row.load_id)));
    const sound = loads.filter(({ loadId }) => !broken.has(loadId));
    const outcomes = await commitLoads(session, sound, {
      places,
      totals: await readTotals((sql, params) => session.once(sql, params), 'staged_rows', loads),
      insert: (good) =>
        session.once('insert-batch', { load_ids: `[${good.map(({ loadId }) => loadId).join(', ')}]` }),
    });
    const of = new Map(sound.map(({ loadId }, index) => [loadId, outcomes[index] ?? null]));
    return loads.map(({ loadId }) => of.get(loadId) ?? null);
  } finally {
    await session.statement('drop table if exists staged_rows');
  }
}

function filesOf(loads: readonly FileLoad[]) {
  let rowsBefore = 0;
  return loads.map(({ loadId, csvPath, invoiceId, file }) => {
    const of = { load_id: loadId, csv_path: csvPath, invoice_id: invoiceId, rows_before: rowsBefore };
    rowsBefore += file.scan.records;
    return of;
  });
}

/** Told of each batch, and of each file that is loaded alone as a batch of one. */
export type OnBatch = (files: number) => void;

/** Counts batches by their size. @param metrics undefined: nobody looks */
export function measureBatches(metrics: Metrics | undefined): OnBatch {
  const sizes = metrics?.histogram('load_batch_files');
  return (files) => sizes?.observe(files);
}

export interface LoadWays<Load> {
  readonly alone: (load: Load) => Promise<FileLoadOutcome>;
  /** As `loadBatch`; always several. */
  readonly together: (loads: readonly Load[]) => Promise<readonly (FileLoadOutcome | null)[]>;
  /** Asked first, for all of a group at once: in their order an answer where there is nothing to do, null where there is. */
  readonly known?: (loads: readonly Load[]) => Promise<readonly (LoadOutcome | null)[]>;
}

export interface BatchOptions {
  readonly onBatch?: OnBatch;
  /** See `OpenWarehouseOptions`. */
  readonly lingerMs?: number;
}

/** Small files that come while others are loaded are loaded together with the next; who comes alone begins at once. */
export class BatchingLoader<Load extends Pick<FileLoad, 'file'>> {
  readonly #ways: LoadWays<Load>;
  readonly #batches: GroupCommit<Load, LoadOutcome | null>;
  readonly #onBatch: OnBatch;

  constructor(ways: LoadWays<Load>, { onBatch = () => undefined, lingerMs = 0 }: BatchOptions = {}) {
    this.#ways = ways;
    this.#onBatch = onBatch;
    this.#batches = new GroupCommit(
      async (loads: readonly Load[]) => {
        const known = (await ways.known?.(loads)) ?? [];
        const rest = await this.#loadNew(loads.filter((_, index) => (known[index] ?? null) === null));
        const next = rest.values();
        return loads.map((_, index) => known[index] ?? next.next().value ?? null);
      },
      {
        maxItems: BATCH_FILES,
        weigh: ({ file }) => file.scan.records,
        maxWeight: BATCH_RECORDS,
        lingerMs,
      },
    );
  }

  /** Who has a load that is not small has asked whether there is anything to do. */
  async load(load: Load): Promise<LoadOutcome> {
    const together = isSmall(load) ? await this.#batches.do(load) : null;
    if (together !== null) return together;
    this.#onBatch(1);
    return this.#ways.alone(load);
  }

  async #loadNew(loads: readonly Load[]): Promise<readonly (FileLoadOutcome | null)[]> {
    const [first] = loads;
    if (first === undefined) return [];
    this.#onBatch(loads.length);
    return loads.length === 1 ? [await this.#ways.alone(first)] : this.#ways.together(loads);
  }
}
