/** What the endpoint needs before a sender reaches it: a certificate that fits its key, and an address that is free. */

import { createSecureContext } from 'node:tls';
import type { FastifyInstance } from 'fastify';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import { messageOf, systemCode, systemErrorIn } from '../lib/system-errors.ts';
import { BillsyncError, EXIT } from '../lib/wire/errors.ts';
import { hostOf, isOpen } from './authorize.ts';
import { readTlsFiles, type TlsFiles } from './tls-files.ts';

/** The settings cannot be served as they are, or the address cannot be had. */
export class WebhookStartError extends BillsyncError {
  readonly code = 'webhook-start';
  override readonly exitCode = EXIT.usage;
}

export class WebhookAddressError extends WebhookStartError {
  constructor(host: string, port: number, cause: unknown) {
    const found = systemErrorIn(cause);
    const reason =
      systemCode(cause) === 'EADDRINUSE'
        ? 'is taken; set BILLSYNC_WEBHOOK_PORT'
        : `cannot be had: ${found?.words ?? systemCode(cause)}; set BILLSYNC_WEBHOOK_HOST and BILLSYNC_WEBHOOK_PORT`;
    super(`The endpoint's address ${host}:${port} ${reason}.`, { cause });
  }
}

/**
 * Connections that the system may hold for us until they are taken. Beyond that a sender hears nothing and tries again
 * after a whole second; Node's 511 are full after a burst of strangers. The system may allow less.
 */
const BACKLOG = 4_096;

/** @throws WebhookStartError they cannot be read, or do not belong together */
export async function loadPair(tls: TlsFiles): Promise<{ cert: Buffer; key: Buffer }> {
  try {
    const pair = await readTlsFiles(tls);
    createSecureContext(pair);
    return pair;
  } catch (error) {
    const found = systemErrorIn(error);
    if (found !== null) {
      const [what, setting] =
        found.path === tls.keyPath
          ? ['key', 'BILLSYNC_WEBHOOK_TLS_KEY']
          : ['certificate', 'BILLSYNC_WEBHOOK_TLS_CERT'];
      const message = `The ${what} of the endpoint (${setting}) cannot be read: ${messageOf(error)}.`;
      throw new WebhookStartError(message, { cause: error });
    }
    throw new WebhookStartError(
      `The certificate and key of the endpoint do not belong together, or are no PEM: ${tls.certPath}, ${tls.keyPath}. Correct BILLSYNC_WEBHOOK_TLS_CERT and BILLSYNC_WEBHOOK_TLS_KEY.`,
      { cause: error },
    );
  }
}

/** @throws WebhookAddressError */
export async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port, backlog: BACKLOG });
  } catch (error) {
    throw new WebhookAddressError(host, port, error);
  }
}

/** Without credentials only this machine is listened to: a stranger could otherwise void invoices. */
export function listeningHost({
  settings,
  log,
  isOpenAllowed = false,
}: {
  readonly settings: Pick<Settings, 'webhook'>;
  readonly log: Logger;
  readonly isOpenAllowed?: boolean;
}): string {
  const { host, credentials } = settings.webhook;
  const own = hostOf(settings.webhook, isOpenAllowed);
  if (isOpen(credentials)) {
    const what =
      own === host
        ? 'asks for no credentials'
        : `has no credentials and therefore listens on ${own}, not on ${host}`;
    log.warn(`the endpoint ${what}; set BILLSYNC_WEBHOOK_BASIC_AUTH or BILLSYNC_WEBHOOK_HEADERS`);
  }
  return own;
}

/** The host as it is written in a URL. */
export function nameOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
