/** How this process is: for probes, for Prometheus, and as a page. */

import type { FastifyInstance } from 'fastify';
import type { Settings } from '../../config/settings.js';
import type { Metrics } from '../../ops/metrics.js';
import { isTrusted } from '../admin-guard.js';
import { ask, frame, type PageContext, sendPage } from '../page-context.js';

export function registerHealth(
  app: FastifyInstance,
  context: PageContext,
  own: { readonly admin: Settings['admin']; readonly metrics: Metrics },
): void {
  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async (request, reply) => {
    const report = context.health.report();
    reply.code(report.isReady ? 200 : 503);
    return isTrusted(request, own.admin) ? report : { isReady: report.isReady };
  });
  app.get('/metrics', async (_request, reply) =>
    reply.type(own.metrics.registry.contentType).send(await own.metrics.text()),
  );
  app.get('/health', async (_request, reply) => {
    const [publication] = await ask(context, (asking) => asking('publication')).catch(() => []);
    const values = { report: context.health.report(), publication: publication ?? null };
    return sendPage(
      reply,
      await frame(context, { view: 'health', title: 'Health', section: '/health', values }),
    );
  });
}
