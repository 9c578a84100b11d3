/** The damaged file is moved aside and never deleted; readers keep the published copy meanwhile. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Alerts, SHOWN_FOR_MS } from '../lib/alerts/alerts.ts';
import { BillsyncError, EXIT } from '../lib/errors.ts';
import type { Health } from '../lib/health/health.ts';
import type { LostRecord } from '../warehouse/catch-up.ts';
import { isWarehouseError } from '../warehouse/errors.ts';
import { openWarehouse, rebuildWarehouse } from '../warehouse/open-warehouse.ts';
import type { OpenWarehouseOptions } from '../warehouse/store.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

export interface OpenOrRebuildOptions extends OpenWarehouseOptions {
  readonly health: Health;
  readonly alerts: Alerts;
  readonly alertForMs?: number;
}

const MAX_LOSSES_LOGGED = 200;

export async function openOrRebuild(options: OpenOrRebuildOptions): Promise<Warehouse> {
  const { health, alerts, log, onFatal, alertForMs = SHOWN_FOR_MS, ...rest } = options;
  let isOpen = false;
  const opening: OpenWarehouseOptions = {
    ...{ ...rest, log },
    // Damage found while opening is thrown as well and repaired here, so it must not end the process.
    onFatal: (error) => (isOpen ? onFatal?.(error) : undefined),
  };
  try {
    const warehouse = await openWhenAvailable(opening, options);
    isOpen = true;
    alerts.resolve('warehouse');
    return warehouse;
  } catch (error) {
    if (!isWarehouseError(error, 'warehouse-corrupt') || rest.settings.warehouse.kind !== 'duckdb')
      throw error;
    const detail = 'The file is damaged and is being rebuilt from the archive; readers keep their copy.';
    log.error({ err: error }, 'the warehouse is damaged; it is being rebuilt from the archive');
    health.set('warehouse', { isHealthy: false, detail });
    alerts.raise({ key: 'warehouse', title: 'The warehouse is damaged', detail });
    // The damaged file cannot be read, so a partial rebuild is better than a worker that does not start.
    const { events, loads, movedAside, losses } = await rebuildWarehouse({ ...opening, acceptLoss: true });
    log.warn({ events, loads, movedAside }, 'the warehouse was rebuilt; the damaged file was moved aside');
    const warehouse = await openWarehouse(opening);
    isOpen = true;
    if (losses.length > 0) reportLosses(options, losses, movedAside);
    setTimeout(() => alerts.resolve('warehouse'), alertForMs).unref();
    return warehouse;
  }
}

const REOPEN_INTERVAL_MS = 5_000;
/** Errors of PostgreSQL that do not pass by waiting: a wrong address or wrong credentials. */
const WRONG_SETTINGS = /authentication|password|does not exist|pg_hba|ENOTFOUND/i;

async function openWhenAvailable(
  opening: OpenWarehouseOptions,
  { health, alerts, log }: OpenOrRebuildOptions,
): Promise<Warehouse> {
  for (;;) {
    try {
      return await openWarehouse(opening);
    } catch (error) {
      const isUnavailable = error instanceof BillsyncError && error.exitCode === EXIT.unreachable;
      if (!isUnavailable || WRONG_SETTINGS.test(error.message)) throw error;
      const detail = [error.message, error.subject, error.hint].filter(Boolean).join('; ');
      log.warn({ err: error }, 'the warehouse is unavailable; retrying');
      health.set('warehouse', { isHealthy: false, detail });
      alerts.raise({ key: 'warehouse', title: 'The warehouse cannot be opened', detail });
      await sleep(REOPEN_INTERVAL_MS);
    }
  }
}

function reportLosses(
  { log, alerts }: OpenOrRebuildOptions,
  losses: readonly LostRecord[],
  movedAside: string | null,
): void {
  log.error(
    { losses: losses.slice(0, MAX_LOSSES_LOGGED) },
    'the archive could not restore the whole warehouse',
  );
  const [first] = losses;
  const invoice = first?.invoiceId == null ? '' : `invoice ${first.invoiceId}: `;
  alerts.raise({
    key: 'warehouse/losses',
    title: 'The warehouse was rebuilt, but not completely',
    detail: `${losses.length} losses, the first: ${invoice}${first?.why}. Restore the archive from its backup, then run \`billsync rebuild\`. The damaged file lies at ${movedAside}.`,
  });
}
