/** The endpoint with probes beside it, as a process of its own. */

import { startParts } from './parts.ts';
import { startProbesRole } from './probes-role.ts';
import type { RoleContext, RunningRole } from './run-role.ts';
import { reportEndpoint, watchEndpoint } from './watch-endpoint.ts';
import { startWebhookRole } from './webhook-role.ts';

/** The endpoint first: what cannot be heard is lost, who asks how we are asks again. */
export function startWebhookAloneRole(context: RoleContext): Promise<RunningRole> {
  return startParts(context.log, async (parts) => {
    const webhook = await startWebhookRole(context);
    parts.add('webhook', () => webhook.close());
    const watch = watchEndpoint({
      url: () => webhook.addresses.webhook ?? null,
      onState: reportEndpoint(context),
    });
    parts.add('watch', async () => watch.close());
    const probes = await startProbesRole(context);
    parts.add('probes', () => probes.close());
    return { addresses: { ...webhook.addresses, ...probes.addresses }, close: () => parts.close() };
  });
}
