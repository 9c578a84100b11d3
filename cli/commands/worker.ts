/** `billsync worker`: the worker alone; it waits for Temporal and survives its restarts. */

import type { Command } from 'commander';
import { requireService } from '../../config/load-settings.js';
import { startAdminRole } from '../roles/admin-role.js';
import { startParts } from '../roles/parts.js';
import { type RoleContext, type RunningRole, runRole } from '../roles/run-role.js';
import { startWorkerRole } from '../roles/worker-role.js';
import { verb } from '../verb.js';

export function workerCommand(): Command {
  return verb(
    'worker',
    'Runs the worker: it fetches, proves and loads invoices, and publishes what readers open.',
    'TEMPORAL_ADDRESS=127.0.0.1:7233 billsync worker',
  ).action((_flags: unknown, command: Command) => runRole(command, 'worker', startWorkerAlone));
}

async function startWorkerAlone(context: RoleContext): Promise<RunningRole> {
  requireService(context.settings);
  return startParts(context.log, async (parts) => {
    const admin = await startAdminRole(context);
    parts.add('admin', () => admin.close());
    const worker = await startWorkerRole(context);
    parts.add('worker', () => worker.close());
    return { addresses: { ...admin.addresses, ...worker.addresses }, close: () => parts.close() };
  });
}
