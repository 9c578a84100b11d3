/** A port that is taken is told before anything has been started: whoever starts `up` twice waits for no Temporal server. */

import type { Settings } from '../../lib/config/settings.ts';
import { listenOnce } from '../../lib/processes.ts';
import { listeningHost } from '../../webhook/authentication.ts';

interface Place {
  readonly host: string;
  readonly port: number;
}

/** @throws WebhookStartError, AdminPortTakenError; a port that cannot be had for another reason is told by who listens there */
export async function refuseTakenPorts({
  webhook,
  admin,
}: Pick<Settings, 'webhook' | 'admin'>): Promise<void> {
  const endpoint = { host: listeningHost(webhook, webhook.open === true), port: webhook.port };
  await refuseTaken(endpoint, async (cause) => {
    const { addressError } = await import('../../webhook/server.ts');
    return addressError(endpoint.host, endpoint.port, cause);
  });
  await refuseTaken(admin, async (cause) => {
    const { AdminPortTakenError } = await import('../../dashboard/probes.ts');
    return new AdminPortTakenError(admin.host, admin.port, { cause });
  });
}

async function refuseTaken(
  { host, port }: Place,
  refusal: (cause: unknown) => Promise<Error>,
): Promise<void> {
  if (port === 0) return;
  try {
    await listenOnce({ host: host.replace(/^\[|\]$/g, ''), port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw await refusal(error);
  }
}
