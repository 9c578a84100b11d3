/** The first page: where invoices stand, what needs a person, and what is spent. */

import type { FastifyInstance } from 'fastify';
import { drawCharts } from '../../reports/render/chart-svg.js';
import { ask, frame, type PageContext, sendPage, withReports } from '../page-context.js';

/** Each contributes its charts, in this order. */
const CHARTED = ['summary', 'carriers', 'tenants', 'carrier-zones'];

/** Two stand side by side, so they are drawn at about the size they are shown in. */
const CHART = { width: 600, mostBars: 10 };

const MOST_GAPS = 10;

export function registerOverview(app: FastifyInstance, context: PageContext): void {
  app.get('/', async (_request, reply) => {
    const published = await context.cache.page('overview', () => publishedPart(context));
    const quarantined = context.quarantine === null ? null : (await context.quarantine.list()).length;
    return sendPage(
      reply,
      await frame(context, {
        view: 'overview',
        title: 'Overview',
        section: '/',
        values: { ...published, quarantined },
      }),
    );
  });
}

async function publishedPart(context: PageContext): Promise<Record<string, unknown>> {
  const asked = await ask(context, async (asking) => ({
    states: await asking('states'),
    attention: await asking('attention'),
    contradicted: await asking('contradicted'),
  }));
  return withReports(context, undefined, async (session) => {
    const gaps = (await session.run('gaps')).rows;
    const charts = [];
    let notes: readonly string[] = [];
    for (const name of CHARTED) {
      const result = await session.run(name);
      notes = result.head.notes;
      charts.push(...drawCharts(result, CHART).map((chart) => ({ ...chart, report: name })));
    }
    return { ...asked, gaps: gaps.length, firstGaps: gaps.slice(0, MOST_GAPS), charts, notes };
  });
}
