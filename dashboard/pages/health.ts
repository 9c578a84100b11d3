/** How this process is: for probes, for Prometheus, and as a page. */

import type { FastifyInstance } from 'fastify';
import type { Settings } from '../../lib/config/settings.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { ask, type PageContext, sendFramed } from '../page-context.ts';
import { registerProbes } from '../probes.ts';

/** Serves `/health` for people, and `/livez`, `/readyz` and `/metrics` for machines. */
export function registerHealth(
  app: FastifyInstance,
  context: PageContext,
  own: { readonly admin: Settings['admin']; readonly metrics: Metrics },
): void {
  registerProbes(app, { ...own, health: context.health });
  app.get('/health', async (_request, reply) => {
    const [publication] = await ask(context, (asking) => asking('publication')).catch(() => []);
    const values = { report: context.health.report(), publication: publication ?? null };
    const page = { view: 'health', title: 'Health', section: '/health', values, figures: values } as const;
    return sendFramed(context, reply, page);
  });
}
