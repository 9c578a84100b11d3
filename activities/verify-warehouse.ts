/** Proves the warehouse against the archive, and raises an alert when they differ. */

import { heartbeat } from '@temporalio/activity';
import type { Verification } from '../warehouse/warehouse.ts';
import { beatEvery } from './beat.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

const ALERT_KEY = 'drift';
/** History is no place for rows; who wants all of them verifies with the writer stopped, or reads the log. */
const DRIFT_REPORTED = 200;
/** Somebody may be watching how far it is. */
const HEARTBEAT_MS = 1_000;

export function verifyWarehouse({ warehouse, alerts, log }: WarehouseDependencies) {
  return ({ full }: { readonly full: boolean }): Promise<Verification> =>
    translated(async () => {
      let progress: unknown = null;
      const beat = beatEvery(HEARTBEAT_MS, () => heartbeat(progress));
      try {
        await tidy(warehouse, log);
        const found = await warehouse.verify({
          full,
          onProgress: (done, of) => {
            progress = { done, of };
          },
        });
        const { drift } = found;
        if (drift.length === 0) alerts.resolve(ALERT_KEY);
        else {
          log.error({ drift: drift.slice(0, DRIFT_REPORTED) }, 'the warehouse differs from the archive');
          const [first] = drift;
          const detail = `${drift.length} differences, the first: invoice ${first?.invoiceId} ${first?.rule}. \`billsync verify\` lists them. Restore what the archive lost; then stop the worker and run \`billsync rebuild\`.`;
          alerts.raise({ key: ALERT_KEY, title: 'The warehouse differs from the archive', detail });
        }
        return { ...found, drift: drift.slice(0, DRIFT_REPORTED), driftInAll: drift.length };
      } finally {
        beat.stop();
      }
    });
}

/** The schedule comes by here, so here a lake is kept in order; that it could not be is no reason not to verify. */
async function tidy(
  warehouse: WarehouseDependencies['warehouse'],
  log: WarehouseDependencies['log'],
): Promise<void> {
  try {
    const tidied = await warehouse.tidy?.();
    if (tidied) log.info(tidied, 'the lake is in order');
  } catch (error) {
    log.error({ err: error }, 'the lake could not be put in order');
  }
}
