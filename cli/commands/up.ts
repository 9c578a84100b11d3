import type { Command } from 'commander';
import { verb } from '../verb.ts';
import { type EndpointFlags, webhookOverrides } from './webhook.ts';

export function command(): Command {
  return verb(
    'up',
    'Runs the endpoint and the worker as separate processes and restarts one that ends; also starts Temporal unless one is configured. Prints `ready` with the addresses on stderr. SIGTERM drains and ends with 0.',
    'billsync up\nbillsync up --sandbox',
  )
    .option('--sandbox', 'also start a simulated billing service and use it')
    .option('--host <address>', 'same as BILLSYNC_WEBHOOK_HOST')
    .option('--port <port>', 'same as BILLSYNC_WEBHOOK_PORT; 0 selects a free port')
    .action(async (flags: EndpointFlags & { readonly sandbox?: boolean }, command: Command) => {
      const overrides = webhookOverrides(flags);
      if (flags.sandbox !== true) {
        const { runRole } = await import('../roles/run-role.ts');
        const { startUpRole } = await import('../roles/up-role.ts');
        return runRole(command, 'up', startUpRole, overrides);
      }
      const { runWithSandbox } = await import('../roles/up-with-sandbox.ts');
      await runWithSandbox(command, overrides);
    });
}
