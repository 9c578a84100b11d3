/** `billsync worker`: the worker alone; it waits for Temporal and survives its restarts. */

import type { Command } from 'commander';
import { verb } from '../verb.js';

export function workerCommand(): Command {
  return verb(
    'worker',
    'Runs the worker, which fetches, checks and loads invoices, and publishes reports.duckdb.',
    'TEMPORAL_ADDRESS=127.0.0.1:7233 billsync worker',
  ).action(async (_flags: unknown, command: Command) => {
    const { runRole } = await import('../roles/run-role.js');
    const { startWorkerAloneRole } = await import('../roles/worker-alone-role.js');
    await runRole(command, 'worker', startWorkerAloneRole);
  });
}
