/** `billsync temporal`: the embedded Temporal server alone, so that roles can run as processes of their own. */

import type { Command } from 'commander';
import { runRole } from '../roles/run-role.js';
import { startTemporalRole } from '../roles/temporal-role.js';
import { verb } from '../verb.js';

export function temporalCommand(): Command {
  return verb(
    'temporal',
    'Runs the embedded Temporal server, at TEMPORAL_ADDRESS when that is set. Its database lies in the data folder.',
    'TEMPORAL_ADDRESS=127.0.0.1:7233 billsync temporal',
  ).action((_flags: unknown, command: Command) => runRole(command, 'temporal-server', startTemporalRole));
}
