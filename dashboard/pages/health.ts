import type { FastifyInstance } from 'fastify';
import type { Settings } from '../../lib/config/settings.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { type PageContext, readPublished, sendFramed } from '../page-context.ts';
import { registerProbes } from '../probes.ts';

export function registerHealth(
  app: FastifyInstance,
  context: PageContext,
  own: { readonly admin: Settings['admin']; readonly metrics: Metrics },
): void {
  registerProbes(app, { ...own, health: context.health });
  app.get('/health', async (_request, reply) => {
    const [publication = null] = await readPublished(context, (run) => run('publication')).catch(() => []);
    const values = { report: context.health.report(), publication };
    const page = { view: 'health', title: 'Health', section: '/health', values, data: values };
    return sendFramed(context, reply, page);
  });
}
