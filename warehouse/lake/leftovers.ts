/** Rows that a dead writer left in the lake: no ledger counts them, nobody sees them, here they go. */

import type { Database } from '../duckdb/database.ts';
import type { Ledger } from './ledger.ts';

/** @returns ids of the loads whose rows were removed; those of loads in flight stay */
export async function removeLeftovers(database: Database, ledger: Ledger): Promise<readonly number[]> {
  const removed: number[] = [];
  for (const row of await database.use((session) => session.once('leftover-loads'))) {
    const loadId = Number(row.load_id);
    const isGone = await ledger.transaction(async (transaction) => {
      // Its writer holds this until its ledger has committed or never will.
      if (!(await transaction.tryLock('load', loadId))) return false;
      const counted = await transaction.all('known-of-loads', { load_ids: `[${loadId}]` });
      if (counted.length > 0) return false;
      await database.all('delete from lake.main.shipment_rows where load_id = $load_id::integer', {
        load_id: loadId,
      });
      return true;
    });
    if (isGone) removed.push(loadId);
  }
  return removed;
}
