/** The worker as a role; `worker/` does the work. */

import { startWorker } from '../../worker/start-worker.js';
import type { RoleContext, RunningRole } from './run-role.js';

export interface RunningWorkerRole extends RunningRole {
  /** Resolves when it polls Temporal for the first time; it starts, and waits, without. */
  readonly ready: Promise<void>;
}

export async function startWorkerRole(context: RoleContext): Promise<RunningWorkerRole> {
  const { settings, log, metrics, health, alerts, fatal, role } = context;
  const worker = await startWorker({ settings, log, metrics, health, alerts, role, onFatal: fatal });
  return { addresses: {}, ready: worker.ready, close: () => worker.close() };
}
