import type { Command } from 'commander';
import { verb } from '../verb.ts';

export function command(): Command {
  return verb(
    'worker',
    'Runs the worker, which downloads, verifies and loads invoices, and publishes reports.duckdb.',
    'TEMPORAL_ADDRESS=127.0.0.1:7233 billsync worker',
  ).action(async (_flags: unknown, command: Command) => {
    const { runRole } = await import('../roles/run-role.ts');
    const { startWorkerAloneRole } = await import('../roles/worker-role.ts');
    await runRole(command, 'worker', startWorkerAloneRole);
  });
}
