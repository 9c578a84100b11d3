/** The first page: where invoices stand, what needs a person, and what is spent. */

import type { FastifyInstance } from 'fastify';
import { drawCharts } from '../../reports/render/chart-svg.js';
import { ask, asOfHead, framed, type PageContext, sendPage, withReports } from '../page-context.js';

/** Each contributes its charts, in this order. */
const CHARTED = ['summary', 'carriers', 'tenants', 'carrier-zones'];

/** Two stand side by side, so they are drawn at about the size they are shown in. */
const CHART = { width: 600, mostBars: 10 };

const MOST_GAPS = 10;

export function registerOverview(app: FastifyInstance, context: PageContext): void {
  const make = () => publishedPart(context);
  context.cache.offer('/', make, { isFirst: true });
  app.get('/', async (_request, reply) => {
    const { value, isFormer } = await context.cache.page('/', make);
    const quarantined = context.quarantine === null ? null : (await context.quarantine.list()).length;
    const { asOf, ...published } = value;
    const values = { ...published, quarantined };
    return sendPage(
      reply,
      framed(context, {
        value: { asOf, view: 'overview', title: 'Overview', section: '/', values },
        isFormer,
      }),
    );
  });
}

/** What the page shows of the file; a process's own quarantine is read whenever somebody looks. */
async function publishedPart(
  context: PageContext,
): Promise<Readonly<Record<string, unknown>> & { readonly asOf: string }> {
  const asked = await ask(context, async (asking) => ({
    states: await asking('states'),
    attention: await asking('attention'),
    contradicted: await asking('contradicted'),
  }));
  return withReports(context, undefined, async (session) => {
    const { rows: gaps, head } = await session.run('gaps');
    const charts = [];
    let notes: readonly string[] = [];
    for (const name of CHARTED) {
      const result = await session.run(name);
      notes = result.head.notes;
      charts.push(...drawCharts(result, CHART).map((chart) => ({ ...chart, report: name })));
    }
    return {
      ...asked,
      ...{ charts, notes, asOf: asOfHead(head) },
      ...{ gaps: gaps.length, firstGaps: gaps.slice(0, MOST_GAPS) },
    };
  });
}
