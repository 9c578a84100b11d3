/** The worker with the admin port beside it, as a process of its own. */

import { requireService } from '../../lib/config/settings.ts';
import { startAdminRole } from './admin-role.ts';
import { startParts } from './parts.ts';
import type { RoleContext } from './run-role.ts';
import { type RunningWorkerRole, startWorkerRole } from './worker-role.ts';

export async function startWorkerAloneRole(context: RoleContext): Promise<RunningWorkerRole> {
  requireService(context.settings);
  return startParts(context.log, async (parts) => {
    const admin = await startAdminRole(context);
    parts.add('admin', () => admin.close());
    const worker = await startWorkerRole(context);
    parts.add('worker', () => worker.close());
    const addresses = { ...admin.addresses, ...worker.addresses };
    return { addresses, ready: worker.ready, close: () => parts.close() };
  });
}
