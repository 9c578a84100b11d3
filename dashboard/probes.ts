/** `/livez`, `/readyz` and `/metrics` of a process, by themselves: for a role that has no pages to show. */

import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import type { Settings } from '../config/settings.js';
import type { Health } from '../ops/health.js';
import type { Metrics } from '../ops/metrics.js';
import { createAdminGuard, isTrusted } from './admin-guard.js';

export interface ProbesOptions {
  readonly admin: Settings['admin'];
  readonly health: Health;
  readonly metrics: Metrics;
  /** The admin port; null, or one that is taken: a free one. */
  readonly port: number | null;
}

export interface RunningProbes {
  readonly url: string;
  close(): Promise<void>;
}

/** @throws AdminPasswordMissingError */
export async function startProbes({ admin, health, metrics, port }: ProbesOptions): Promise<RunningProbes> {
  const guard = createAdminGuard(admin);
  const open = async (wanted: number): Promise<FastifyInstance> => {
    const app = fastify({ logger: false });
    app.addHook('onRequest', guard);
    registerProbes(app, { admin, health, metrics });
    await app.listen({ host: admin.host.replace(/^\[|\]$/g, ''), port: wanted });
    return app;
  };
  const app = await open(port ?? 0).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    return open(0);
  });
  const host = admin.host.includes(':') ? `[${admin.host.replace(/[[\]]/g, '')}]` : admin.host;
  return {
    url: `http://${host}:${(app.server.address() as AddressInfo).port}/`,
    close: () => app.close(),
  };
}

export function registerProbes(
  app: FastifyInstance,
  { admin, health, metrics }: Pick<ProbesOptions, 'admin' | 'health' | 'metrics'>,
): void {
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
