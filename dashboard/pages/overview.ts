/** The first page: where invoices stand, what needs a person, and what is spent. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { drawCharts } from '../../reports/render/chart-svg.js';
import type { ReportResult } from '../../reports/report-result.js';
import type { ReportSession } from '../../reports/report-session.js';
import type { Shown } from '../page-cache.js';
import { ask, asOfHead, type PageContext, type PublishedPage, withReports } from '../page-context.js';
import { sendWhenKnown } from '../stream-page.js';

/** Each contributes its charts, in this order. */
const CHARTED = [
  { name: 'summary' },
  { name: 'carriers' },
  { name: 'tenants' },
  { name: 'cost', parameters: { by: 'carrier+zone' } },
];

/** Two stand side by side, so they are drawn at about the size they are shown in. */
const CHART = { width: 600, mostBars: 10 };

const MOST_GAPS = 10;
const UNDER_WAY_MS = 10;

/** Serves `/`. */
export function registerOverview(app: FastifyInstance, context: PageContext): void {
  const make = () => publishedPart(context);
  context.cache.offer('/', make, { isFirst: true });
  app.get('/', async (_request, reply) =>
    sendWhenKnown(context, reply, { title: 'Overview', section: '/', page: overview(context, make) }),
  );
}

async function overview(
  context: PageContext,
  make: () => Promise<PublishedPart>,
): Promise<Shown<PublishedPage>> {
  const { value, isFormer } = await context.cache.page('/', make);
  const quarantined = context.quarantine === null ? null : (await context.quarantine.list()).length;
  const { asOf, ...published } = value;
  const values = { ...published, quarantined };
  return { value: { asOf, view: 'overview', title: 'Overview', section: '/', values }, isFormer };
}

type PublishedPart = Readonly<Record<string, unknown>> & { readonly asOf: string };

/** What the page shows of the file; a process's own quarantine is read whenever somebody looks. */
async function publishedPart(context: PageContext): Promise<PublishedPart> {
  const asked = ask(context, async (asking) => ({
    states: await asking('states'),
    attention: await asking('attention'),
    contradicted: await asking('contradicted'),
  }));
  const reported = withReports(context, undefined, async (session) => {
    const { rows: gaps, head } = await session.run('gaps');
    const { charts, notes } = await chartsOf(session);
    return {
      ...{ charts, notes, asOf: asOfHead(head) },
      ...{ gaps: gaps.length, firstGaps: gaps.slice(0, MOST_GAPS) },
    };
  });
  const [standing, spent] = await Promise.all([asked, reported]);
  return { ...standing, ...spent };
}

/**
 * While one report is drawn here, DuckDB's threads read the next. The last is read first, since its chart takes longest
 * to draw and what follows it longest to read.
 */
async function chartsOf(
  session: ReportSession,
): Promise<{ readonly charts: readonly unknown[]; readonly notes: readonly string[] }> {
  const charts: unknown[] = [];
  let notes: readonly string[] = [];
  let next: Promise<ReportResult> | undefined;
  const reports = CHARTED.toReversed();
  for (const [index, { name, parameters }] of reports.entries()) {
    const result = await (next ?? session.run(name, parameters));
    const following = reports[index + 1];
    next = following === undefined ? undefined : session.run(following.name, following.parameters);
    // It is waited for in the next round, unless drawing fails first.
    next?.catch(() => undefined);
    // Drawing holds up everything else in this process, so the question must have reached DuckDB before.
    if (next !== undefined) await sleep(UNDER_WAY_MS);
    notes = result.head.notes;
    charts.unshift(...drawCharts(result, CHART).map((chart) => ({ ...chart, report: name })));
  }
  return { charts, notes };
}
