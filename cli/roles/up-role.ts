/** Everything in one process: the endpoint first, since the service tells a thing only twice, then the rest. */

import { requireService } from '../../config/load-settings.js';
import { pause } from '../../temporal/connect.js';
import { WarehouseLockedError } from '../../warehouse/errors.js';
import { lockOwner } from '../../warehouse/lock-file.js';
import { warehousePaths } from '../../warehouse/paths.js';
import { startAdminRole } from './admin-role.js';
import { startParts } from './parts.js';
import type { RoleContext, RunningRole } from './run-role.js';
import { startTemporalRole } from './temporal-role.js';
import { startWebhookRole } from './webhook-role.js';
import { startWorkerRole } from './worker-role.js';

/** With our own Temporal `ready` means that work is taken; a configured one may be away, then it is waited for behind. */
const READY_WITHIN_MS = 30_000;

/** @throws WarehouseLockedError another `up` or `worker` has this data folder */
export async function startUpRole(context: RoleContext): Promise<RunningRole> {
  const { settings, log, stopping } = context;
  requireService(settings);
  await refuseSecond(context);
  return startParts(log, async (parts) => {
    const webhook = await startWebhookRole(context);
    parts.add('webhook', () => webhook.close());
    let addresses = { ...webhook.addresses };
    if (!settings.temporalConfigured) {
      const temporal = await startTemporalRole(context);
      // The worker and the forwarder say goodbye to it, so it goes last.
      parts.addLowest('temporal', () => temporal.close());
      addresses = { ...addresses, ...temporal.addresses };
    }
    const admin = await startAdminRole(context);
    parts.add('admin', () => admin.close());
    const worker = await startWorkerRole(context);
    parts.add('worker', () => worker.close());
    if (!settings.temporalConfigured) await Promise.race([worker.ready, pause(READY_WITHIN_MS, stopping)]);
    return { addresses: { ...addresses, ...admin.addresses }, close: () => parts.close() };
  });
}

/** One that was killed while it wrote to disk takes a moment to be gone. */
const DYING_WITHIN_MS = 2_000;

/** Before anything listens, so that a second `up` says who is there and not that a port is taken. */
async function refuseSecond({ settings, stopping }: RoleContext): Promise<void> {
  if (settings.warehouse.kind !== 'duckdb') return;
  const { lock, database } = warehousePaths(settings);
  const deadline = Date.now() + DYING_WITHIN_MS;
  for (let owner = await lockOwner(lock); owner !== null; owner = await lockOwner(lock)) {
    if (Date.now() > deadline) throw new WarehouseLockedError(database, owner);
    await pause(100, stopping);
  }
}
