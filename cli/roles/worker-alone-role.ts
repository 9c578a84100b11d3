/** The worker with the admin port beside it, as a process of its own. */

import { requireService } from '../../config/load-settings.js';
import { startAdminRole } from './admin-role.js';
import { startParts } from './parts.js';
import type { RoleContext, RunningRole } from './run-role.js';
import { startWorkerRole } from './worker-role.js';

export async function startWorkerAloneRole(context: RoleContext): Promise<RunningRole> {
  requireService(context.settings);
  return startParts(context.log, async (parts) => {
    const admin = await startAdminRole(context);
    parts.add('admin', () => admin.close());
    const worker = await startWorkerRole(context);
    parts.add('worker', () => worker.close());
    return { addresses: { ...admin.addresses, ...worker.addresses }, close: () => parts.close() };
  });
}
