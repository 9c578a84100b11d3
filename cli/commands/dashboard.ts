import type { Command } from 'commander';
import { verb } from '../verb.ts';

export function command(): Command {
  return verb(
    'dashboard',
    'Serves the pages, health and metrics from the published file, without a worker.',
    'billsync dashboard --port 9090',
  )
    .option('--host <address>', 'same as BILLSYNC_ADMIN_HOST')
    .option('--port <port>', 'same as BILLSYNC_ADMIN_PORT; 0 selects a free port')
    .action(async (flags: { readonly host?: string; readonly port?: string }, command: Command) => {
      const { runRole } = await import('../roles/run-role.ts');
      const { startAdminRole } = await import('../roles/admin-role.ts');
      await runRole(command, 'dashboard', startAdminRole, {
        ...(flags.host === undefined ? {} : { BILLSYNC_ADMIN_HOST: flags.host }),
        ...(flags.port === undefined ? {} : { BILLSYNC_ADMIN_PORT: flags.port }),
      });
    });
}
