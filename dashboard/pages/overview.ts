/** The first page: what is spent and what moved, where invoices stand, and what needs a person. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ReportRow } from '../../reports/cells.ts';
import { isReportError } from '../../reports/errors.ts';
import { chartFigure, drawCharts } from '../../reports/render/charts.ts';
import { checkFilters, DATE_BASES } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { filtersOf, periodOf, type Query } from '../address.ts';
import { addressOfPage, asksForFigures, patienceFor } from '../figures.ts';
import { periodMenu } from '../filter-form.ts';
import { pick, rowsOfInvoices, withTenants } from '../invoice-rows.ts';
import type { Shown } from '../page-cache.ts';
import {
  ask,
  asOfHead,
  asOfNow,
  type PageContext,
  type PublishedPage,
  withReports,
} from '../page-context.ts';
import type { Ask } from '../published-questions.ts';
import { type SavedViews, saveAddress } from '../saved-views/saved-views.ts';
import { sendWhenKnown } from '../stream-page.ts';
import { count, instant } from '../views.ts';
import { spendOf } from './spend.ts';

/** About the size in which it is shown. */
const CHART = { width: 1000, maxBars: 10 };

/** Rows per kind of work; a link leads to the others. */
const MAX_NEEDED = 4;

/** Serves `/`. */
export function registerOverview(app: FastifyInstance, context: PageContext, saved: SavedViews): void {
  context.cache.offer('/', () => publishedPart(context, {}), { isFirst: true });
  app.get('/', async (request, reply) => {
    const query = request.query as Query;
    checkFilters(filtersOf(query));
    return sendWhenKnown(context, reply, {
      ...{ title: 'Overview', section: '/', period: periodOf(query) },
      page: overview(context, request, saved),
    });
  });
}

async function overview(
  context: PageContext,
  request: FastifyRequest,
  saved: SavedViews,
): Promise<Shown<PublishedPage>> {
  const query = request.query as Query;
  const make = () => publishedPart(context, query);
  const { value, isFormer } = await context.cache
    .page(addressOfPage(request), make, patienceFor(request))
    .catch((error) => ({ value: withoutSpend(error, request), isFormer: false }));
  const quarantined = context.quarantine === null ? null : (await context.quarantine.list()).length;
  const { asOf, figures, ...published } = value;
  const views = await savedOf(context, saved);
  const values = {
    ...{ ...published, ...views, save: saveAddress('/', query) },
    unwell: Object.values(context.health.report().components).filter(({ isHealthy }) => !isHealthy).length,
    counts: countsOf(published, quarantined),
    ...{ ...periodMenu(query, '/'), filters: filtersOf(query), bases: DATE_BASES },
  };
  const page = { asOf, view: 'overview', title: 'Overview', section: '/', period: periodOf(query) } as const;
  return { value: { ...page, values, figures: { ...figures, views: views.views, quarantined } }, isFormer };
}

/** A file of views that cannot be read keeps nobody from the figures. */
async function savedOf(context: PageContext, saved: SavedViews) {
  try {
    return { views: await saved.list(), viewsProblem: null };
  } catch (error) {
    return { views: [], viewsProblem: context.tell(error, '/').message };
  }
}

/** A card for each state of invoices, for the quarantine and for gaps; null: it is not known. */
function countsOf({ states, gaps }: Pick<PublishedPart, 'states' | 'gaps'>, quarantined: number | null) {
  const ofStates = states.map(({ state, invoices }) => ({
    ...{ address: `/invoices?state=${state}`, number: Number(invoices) },
    ...{ label: String(state).replaceAll('_', ' '), needs: state === 'needs_attention' },
  }));
  const others = [
    { address: '/quarantine', number: quarantined, label: 'in quarantine' },
    { address: '/reports/gaps', number: gaps, label: 'gaps' },
  ];
  return [
    ...ofStates,
    ...others.filter(({ number }) => number !== null).map((each) => ({ ...each, needs: each.number !== 0 })),
  ];
}

type PublishedPart = Readonly<Record<string, unknown>> & {
  readonly states: readonly ReportRow[];
  readonly gaps: number | null;
  readonly asOf: string | null;
  readonly figures: object;
};

/** The page whose spend took longer than the limit. It is thrown, since what fails is not kept: the next reader asks again. */
class WithoutSpend extends Error {
  readonly part: PublishedPart;
  constructor(part: PublishedPart, cause: Error) {
    super(cause.message, { cause });
    this.part = part;
  }
}

/** Programs are refused instead: they would take what is missing for nothing. */
function withoutSpend(error: unknown, request: FastifyRequest): PublishedPart {
  if (!(error instanceof WithoutSpend)) throw error;
  if (asksForFigures(request)) throw error.cause;
  return error.part;
}

/** Everything that reads shipments; `late` is the error of the part that took longer than the limit. */
async function sumsInTime(context: PageContext, query: Query) {
  const { by } = checkFilters(filtersOf(query));
  let reports: { readonly gaps: ReportResult; readonly months: ReportResult } | null = null;
  try {
    reports = await withReports(context, { by }, async (session) => ({
      gaps: await session.run('gaps'),
      months: await session.run('summary'),
    }));
    return { reports, spend: await spendOf(context, query, reports.months.rows), late: null };
  } catch (error) {
    if (isReportError(error, 'interrupted')) return { reports, spend: null, late: error };
    throw error;
  }
}

const INVOICE = ['invoice_id', 'invoice_number', 'tenant'];
const ATTENTION = [...INVOICE, 'reason_code', 'reason', 'state_since'];
const SUMS = ['stated_total_amount', 'billing_cost', 'currency_code'];
const CONTRADICTED = [...INVOICE, 'discrepancy_rules', ...SUMS, 'loaded_at'];

/** The first invoices that the question finds, each with the number of all. */
async function listed(asking: Ask, question: 'attention' | 'contradicted'): Promise<readonly ReportRow[]> {
  const ids = await asking(question);
  const found = ids[0]?.found ?? null;
  const rows = await rowsOfInvoices(asking, ids);
  if (question === 'contradicted') return rows.map((row) => ({ ...pick(row, CONTRADICTED), found }));
  return (await withTenants(asking, rows)).map((row) => ({ ...pick(row, ATTENTION), found }));
}

interface Standing {
  readonly attention: readonly ReportRow[];
  readonly contradicted: readonly ReportRow[];
}

/** Items that need action: the first of each kind, with a link to all. */
function neededOf({ attention, contradicted }: Standing, gaps: readonly ReportRow[]) {
  const invoice = ({ invoice_id: id, invoice_number: number, tenant }: ReportRow) => ({
    ...{ address: `/invoices/${id}`, name: number ?? id, tenant },
  });
  const needed = [
    ...attention.slice(0, MAX_NEEDED).map((row) => ({
      ...{ ...invoice(row), what: row.reason ?? row.reason_code, since: instant(row.state_since) },
    })),
    ...contradicted.slice(0, MAX_NEEDED).map((row) => ({
      ...{ ...invoice(row), since: instant(row.loaded_at) },
      what: `Its rows contradict its header: ${row.discrepancy_rules}`,
    })),
    ...gaps.slice(0, MAX_NEEDED).map((row) => ({
      ...{ address: '/reports/gaps', name: `after ${row.after_invoice}`, tenant: row.tenant },
      ...{ what: `Perhaps missing: ${row.finding}`, since: row.expected_to },
    })),
  ];
  const kinds = [
    ['/invoices?state=needs_attention', attention[0]?.found, 'invoices that need attention'],
    ['/reports/proof', contradicted[0]?.found, 'invoices whose rows contradict their header'],
    ['/reports/gaps', gaps.length, 'gaps'],
  ] as const;
  const more = kinds
    .filter(([, found]) => Number(found ?? 0) > MAX_NEEDED)
    .map(([address, found, label]) => ({ address, label: `All ${count(found)} ${label}` }));
  return { needed, more };
}

/**
 * What the page shows of the file; a process's own quarantine is read whenever somebody looks.
 *
 * @throws WithoutSpend the sums took longer than the limit; where invoices stand and what needs a person is known
 */
async function publishedPart(context: PageContext, query: Query): Promise<PublishedPart> {
  const asked = ask(context, async (asking) => ({
    asOf: await asOfNow(asking),
    states: await asking('states'),
    attention: await listed(asking, 'attention'),
    contradicted: await listed(asking, 'contradicted'),
  }));
  asked.catch(() => undefined);
  const { reports, spend, late } = await sumsInTime(context, query);
  const { asOf, ...standing } = await asked;
  const { gaps, months } = reports ?? { gaps: null, months: null };
  const currency = spend?.currency ?? null;
  const trend = months && { ...months, rows: months.rows.filter((row) => row.currency_code === currency) };
  const { tiles: _, movers, others: __, ...period } = { tiles: [], others: [], movers: [], ...spend };
  const part = {
    ...{
      ...standing,
      spend,
      spendProblem: late?.message ?? null,
      notes: months?.head.notes ?? [],
      asOf: months === null ? asOf : asOfHead(months.head),
    },
    ...{ gaps: gaps?.rows.length ?? null, ...neededOf(standing, gaps?.rows ?? []) },
    charts:
      trend === null
        ? []
        : (await drawCharts(trend, CHART)).map((chart) =>
            chartFigure(chart, { address: '/reports/summary' }),
          ),
    figures: {
      ...standing,
      gaps: gaps?.rows ?? null,
      spend: spend && {
        ...period,
        movers: movers.map(({ what, figures }) => ({ what, rows: figures })),
      },
      months: trend?.rows ?? null,
    },
  };
  if (late !== null) throw new WithoutSpend(part, late);
  return part;
}
