import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Settings } from '../lib/config/settings.ts';
import { BillsyncError, EXIT } from '../lib/errors.ts';
import type { Health } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { createAdminGuard, isTrusted } from './admin-guard.ts';

/** A taken port is not replaced by another, which no probe would find (ADR 13). */
export class AdminPortTakenError extends BillsyncError {
  readonly code = 'admin-port-taken';
  override readonly exitCode = EXIT.locked;
  constructor(host: string, port: number, options?: ErrorOptions) {
    const advice = 'Stop what listens there, or set BILLSYNC_ADMIN_PORT (0 takes a free one)';
    super(`The admin port ${host}:${port} is taken. ${advice}.`, options);
  }
}

export interface ProbesOptions {
  readonly admin: Settings['admin'];
  readonly health: Health;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly alerts?: Alerts;
  /** The port of the setting; null takes a free one. */
  readonly port: number | null;
}

export async function startProbes(options: ProbesOptions) {
  const { admin, health, metrics, port } = options;
  const guard = createAdminGuard(options);
  const app = fastify({ logger: false });
  app.addHook('onRequest', guard);
  registerProbes(app, { admin, health, metrics });
  const { url } = await listenAt(app, { host: admin.host, port: port ?? 0 });
  return { url: `${url}/`, close: (): Promise<void> => app.close() };
}

export async function listenAt(
  app: FastifyInstance,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<{ readonly port: number; readonly url: string }> {
  const address = host.replace(/^\[|\]$/g, '');
  try {
    await app.listen({ host: address, port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new AdminPortTakenError(address, port, { cause: error });
  }
  const { port: taken } = app.server.address() as AddressInfo;
  return { port: taken, url: `http://${address.includes(':') ? `[${address}]` : address}:${taken}` };
}

/**
 * `/livez` is always 200; `/readyz` is 503 while a component is unhealthy, with details for trusted callers
 * only.
 */
export function registerProbes(
  app: FastifyInstance,
  { admin, health, metrics }: Pick<ProbesOptions, 'admin' | 'health' | 'metrics'>,
): void {
  const up = metrics.gauge('component_up');
  metrics.beforeRead(() => {
    for (const [component, { isHealthy }] of Object.entries(health.report().components))
      up.set({ component }, isHealthy ? 1 : 0);
  });
  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (request, reply) => {
    const report = health.report();
    reply.code(report.isReady ? 200 : 503);
    return isTrusted(request, admin) ? report : { isReady: report.isReady };
  });
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.text()),
  );
}
