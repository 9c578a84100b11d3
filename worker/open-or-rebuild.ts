/**
 * Opens the warehouse, and makes it again when its file is damaged: the archive has everything, the damaged file is
 * moved aside and never deleted, and readers keep the published copy meanwhile (faults: corrupt database).
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Alerts, SHOWN_FOR_MS } from '../lib/alerts/alerts.ts';
import type { Health } from '../lib/health/health.ts';
import { isWarehouseError } from '../warehouse/errors.ts';
import { openWarehouse, rebuildWarehouse } from '../warehouse/open-warehouse.ts';
import type { LostRecord, OpenWarehouseOptions, Warehouse } from '../warehouse/warehouse.ts';

export interface OpenOrRebuildOptions extends OpenWarehouseOptions {
  readonly health: Health;
  readonly alerts: Alerts;
  /** So long after it was made again it is still an alert. */
  readonly saidForMs?: number;
}

/** @throws warehouse-corrupt the new file cannot be opened either; else as `openWarehouse` */
export async function openOrRebuild(options: OpenOrRebuildOptions): Promise<Warehouse> {
  const { health, alerts, log, onFatal, saidForMs = SHOWN_FOR_MS, ...rest } = options;
  let isOpen = false;
  let wasDamaged = false;
  const opening: OpenWarehouseOptions = {
    ...{ ...rest, log },
    // Damage that shows while opening is thrown as well, and does not end the process: it is what we are here for.
    onFatal: (error) => (isOpen ? onFatal?.(error) : undefined),
  };
  let warehouse: Warehouse;
  try {
    warehouse = await openPatiently(opening, options);
  } catch (error) {
    if (!isWarehouseError(error, 'warehouse-corrupt') || rest.settings.warehouse.kind !== 'duckdb')
      throw error;
    const detail = 'The file is damaged. It is being made again from the archive; readers keep their copy.';
    log.error({ err: error }, 'the warehouse is damaged; it is being made again from the archive');
    wasDamaged = true;
    health.set('warehouse', { isHealthy: false, detail });
    alerts.raise({ key: 'warehouse', title: 'The warehouse is damaged', detail });
    // It cannot be opened, so there is nothing to keep: what can be made is better than a worker that does not start.
    const { events, loads, movedAside, losses } = await rebuildWarehouse({ ...opening, acceptLoss: true });
    log.warn({ events, loads, movedAside }, 'the warehouse was made again; the damaged file lies aside');
    warehouse = await openWarehouse(opening);
    if (losses.length > 0) tellOfLosses(options, { losses, movedAside });
  }
  isOpen = true;
  // Also what an earlier life of this process ended with.
  if (wasDamaged) setTimeout(() => alerts.resolve('warehouse'), saidForMs).unref();
  else alerts.resolve('warehouse');
  return warehouse;
}

const REOPEN_MS = 5_000;
/** Waiting does not help: the address or the credentials are wrong. */
const WRONG_ADDRESS = /authentication|password|does not exist|pg_hba|ENOTFOUND/i;

/** Waits while the catalogue of a lake is away, as a running worker does. */
async function openPatiently(
  opening: OpenWarehouseOptions,
  { health, alerts, log }: OpenOrRebuildOptions,
): Promise<Warehouse> {
  for (;;) {
    try {
      return await openWarehouse(opening);
    } catch (error) {
      const isAway =
        isWarehouseError(error, 'catalog-unreachable') || isWarehouseError(error, 'catalog-full');
      if (!isAway || WRONG_ADDRESS.test(error.message)) throw error;
      const detail = `${error.message} ${error.hint}`;
      log.warn({ err: error }, 'the catalogue of the lake is away; trying again');
      health.set('warehouse', { isHealthy: false, detail });
      alerts.raise({ key: 'warehouse', title: 'The warehouse cannot be opened', detail });
      await sleep(REOPEN_MS);
    }
  }
}

function tellOfLosses(
  { log, alerts }: OpenOrRebuildOptions,
  { losses, movedAside }: { readonly losses: readonly LostRecord[]; readonly movedAside: string | null },
): void {
  log.error(
    { losses: losses.slice(0, LOSSES_LOGGED) },
    'the archive could not make all of the warehouse again',
  );
  const [first] = losses;
  const what = first?.invoiceId == null ? '' : `invoice ${first.invoiceId}: `;
  const detail = `${losses.length} losses, the first: ${what}${first?.why}. Put the archive back from its backup, then \`billsync rebuild\`. The damaged file lies at ${movedAside}.`;
  const title = 'The warehouse was made again, but not all of it';
  alerts.raise({ key: 'warehouse/losses', title, detail });
}

const LOSSES_LOGGED = 200;
