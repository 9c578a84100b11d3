/**
 * Loads several small files at once: one statement reads and checks all of them into a temporary table, each is checked by
 * its own rows, and one transaction makes all of those count that may be loaded. Planning and committing cost a small
 * invoice more than its rows do.
 *
 * It knows no diagnosis: a file that has to be looked at leaves the batch and is loaded alone.
 */

import { GroupCommit } from '../../lib/group-commit.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { hasAllColumns } from '../../lib/wire/csv-file.ts';
import type { Database } from '../duckdb/database.ts';
import type { Session } from '../duckdb/session.ts';
import type { FileLoadOutcome, LoadOutcome } from '../warehouse.ts';
import { commitLoads, readTotals } from './commit-load.ts';
import type { FileLoad, LoadPlaces } from './file-load.ts';
import { ONE_FILE } from './load-file.ts';

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
