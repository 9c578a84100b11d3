/** `billsync webhook`: the endpoint alone; it keeps what it hears whether or not Temporal is there. */

import type { Command } from 'commander';
import { startParts } from '../roles/parts.js';
import { startProbesRole } from '../roles/probes-role.js';
import { type RoleContext, type RunningRole, runRole } from '../roles/run-role.js';
import { startWebhookRole } from '../roles/webhook-role.js';
import { verb } from '../verb.js';

export function webhookCommand(): Command {
  return verb(
    'webhook',
    'Runs the endpoint that the billing service calls, and hands what it hears to Temporal.',
    'BILLSYNC_WEBHOOK_BASIC_AUTH_FILE=secrets/webhook billsync webhook --port 8443',
  )
    .option('--host <address>', 'same as BILLSYNC_WEBHOOK_HOST')
    .option('--port <port>', 'same as BILLSYNC_WEBHOOK_PORT; 0 takes a free one')
    .action((flags: { readonly host?: string; readonly port?: string }, command: Command) =>
      runRole(command, 'webhook', startWebhookAlone, webhookOverrides(flags)),
    );
}

export function webhookOverrides(flags: {
  readonly host?: string;
  readonly port?: string;
}): Record<string, string> {
  return {
    ...(flags.host === undefined ? {} : { BILLSYNC_WEBHOOK_HOST: flags.host }),
    ...(flags.port === undefined ? {} : { BILLSYNC_WEBHOOK_PORT: flags.port }),
  };
}

/** The endpoint first: what cannot be heard is lost, who asks how we are asks again. */
function startWebhookAlone(context: RoleContext): Promise<RunningRole> {
  return startParts(context.log, async (parts) => {
    const webhook = await startWebhookRole(context);
    parts.add('webhook', () => webhook.close());
    const probes = await startProbesRole(context);
    parts.add('probes', () => probes.close());
    return { addresses: { ...webhook.addresses, ...probes.addresses }, close: () => parts.close() };
  });
}
