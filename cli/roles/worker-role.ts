/** The worker as a role; `worker/` does the work. */

import { startWorker } from '../../worker/start-worker.js';
import type { RoleContext, RunningRole } from './run-role.js';

export async function startWorkerRole(context: RoleContext): Promise<RunningRole> {
  const { settings, log, metrics, health } = context;
  const worker = await startWorker({ settings, log, metrics, health });
  return { addresses: {}, close: () => worker.close() };
}
