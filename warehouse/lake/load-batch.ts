/**
 * Loads several small files into a lake at once: read and checked one by one into a temporary table, then one insert,
 * one file, one commit, and one look at what was committed.
 *
 * It knows no diagnosis: when one of them may not be loaded nothing is, and whoever asked loads each alone.
 */

import type { Database } from '../duckdb/database.js';
import { commitLoads, spanOf } from '../load/commit-load.js';
import type { FileLoad, LoadPlaces } from '../load/file-load.js';
import { onePassParams } from '../load/load-file.js';
import type { FileLoadOutcome } from '../warehouse.js';

/** @returns in the order of the loads. @throws what a load alone throws, and Refusal */
export async function loadBatch(
  database: Database,
  loads: readonly FileLoad[],
  places: LoadPlaces,
): Promise<readonly FileLoadOutcome[]> {
  return database.use(async (session) => {
    await session.all('create-batch');
    try {
      for (const load of loads) await session.all('insert-into-batch', onePassParams(load));
      const loaded = await commitLoads(session, loads, {
        places,
        async insert() {
          const totals = await session.all('batch-totals', spanOf(loads));
          await session.all('insert-batch');
          return totals;
        },
      });
      return loaded.map((rows) => ({ outcome: 'loaded', ...rows }));
    } finally {
      await session.statement('drop table if exists batched_shipments');
    }
  });
}
