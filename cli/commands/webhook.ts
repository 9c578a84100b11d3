import type { Command } from 'commander';
import { verb } from '../verb.ts';

export function command(): Command {
  return verb(
    'webhook',
    'Runs the endpoint that receives events from the billing service and forwards them to Temporal.',
    'BILLSYNC_WEBHOOK_BASIC_AUTH_FILE=secrets/webhook billsync webhook --port 8443',
  )
    .option('--host <address>', 'same as BILLSYNC_WEBHOOK_HOST')
    .option('--port <port>', 'same as BILLSYNC_WEBHOOK_PORT; 0 selects a free port')
    .action(async (flags: EndpointFlags, command: Command) => {
      const { runRole } = await import('../roles/run-role.ts');
      const { startWebhookAloneRole } = await import('../roles/webhook-role.ts');
      await runRole(command, 'webhook', startWebhookAloneRole, webhookOverrides(flags));
    });
}

export interface EndpointFlags {
  readonly host?: string;
  readonly port?: string;
}

export function webhookOverrides(flags: EndpointFlags): Record<string, string> {
  return {
    ...(flags.host === undefined ? {} : { BILLSYNC_WEBHOOK_HOST: flags.host }),
    ...(flags.port === undefined ? {} : { BILLSYNC_WEBHOOK_PORT: flags.port }),
  };
}
