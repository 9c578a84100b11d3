/** `billsync temporal`: the embedded Temporal server alone, so that roles can run as processes of their own. */

import type { Command } from 'commander';
import { verb } from '../verb.ts';

export function temporalCommand(): Command {
  return verb(
    'temporal',
    'Runs the embedded Temporal server, at TEMPORAL_ADDRESS when that is set. Its database is in the data folder.',
    'TEMPORAL_ADDRESS=127.0.0.1:7233 billsync temporal',
  ).action(async (_flags: unknown, command: Command) => {
    const { runRole } = await import('../roles/run-role.ts');
    const { startTemporalRole } = await import('../roles/temporal-role.ts');
    await runRole(command, 'temporal-server', startTemporalRole);
  });
}
