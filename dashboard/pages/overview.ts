import { dirname } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ReportRow } from '../../reports/cells.ts';
import { isReportError } from '../../reports/errors.ts';
import { openGaps } from '../../reports/gap-answers.ts';
import { differencesOf } from '../../reports/invoices/invoice-questions.ts';
import { comparedPeriod } from '../../reports/period.ts';
import { chartFigure, drawCharts } from '../../reports/render/charts.ts';
import { checkFilters, DATE_BASES } from '../../reports/report-filters.ts';
import { filtersOf, isForPrograms, lastValue, periodOf, type Query } from '../address.ts';
import { comparisonFields, periodMenu } from '../filter-form.ts';
import {
  asOfHead,
  asOfNow,
  cachedPage,
  gapsOf,
  type PageContext,
  type PublishedPage,
  readPublished,
  withReports,
} from '../page-context.ts';
import { type InvoicesRequest, type RunStatement, runInvoices } from '../page-queries.ts';
import { sendWhenReady } from '../stream-page.ts';
import { count, instantText } from '../views.ts';
import { spendOf, USUAL_COMPARISON } from './overview-spend.ts';
import { type SavedViews, saveAddress } from './saved-views.ts';

const MAX_ACTIONS = 4;

export function registerOverview(app: FastifyInstance, context: PageContext, saved: SavedViews): void {
  app.get('/', async (request, reply) => {
    const query = request.query as Query;
    checkFilters(filtersOf(query));
    comparedPeriod(lastValue(query, 'compare') ?? USUAL_COMPARISON, { period: 'last-month' });
    return sendWhenReady(context, reply, {
      ...{ title: 'Overview', section: '/', period: periodOf(query), status: 200 },
      page: overview(context, request, saved),
    });
  });
}

async function overview(
  context: PageContext,
  request: FastifyRequest,
  saved: SavedViews,
): Promise<PublishedPage> {
  const query = request.query as Query;
  const [lists, sums] = await Promise.all([
    context.cache.present('lists of /', () => listsOf(context)),
    cachedPage(context, request, () => sumsOf(context, query)).catch((error) => withoutSums(error, request)),
  ]);
  const quarantined = context.quarantine === null ? null : (await context.quarantine.list()).length;
  // A damaged file of views does not fail the page.
  const views = await saved.list().then(
    (list) => ({ views: list, viewsProblem: null }),
    (error) => ({ views: [], viewsProblem: context.errorPage(error, '/').message }),
  );
  const { asOf, ...invoices } = lists;
  const { months, spend } = sums;
  const gaps = sums.gaps === null ? null : await openGaps(dirname(context.publishedPath), sums.gaps);
  const values = {
    ...actionsOf(lists.attention, lists.contradicted, gaps ?? []),
    ...{ ...sums, ...views, save: saveAddress('/', query) },
    isHealthy: Object.values(context.health.report().components).every(({ isHealthy }) => isHealthy),
    unchecked: [
      ...(gaps === null ? ['missing invoices and spend'] : []),
      ...(quarantined === null ? ['the quarantine'] : []),
    ],
    isQuarantineEmpty: quarantined === 0,
    counts: countsOf(lists.states, { gaps: gaps?.length ?? null, quarantined }),
    ...{ ...periodMenu(query, '/'), filters: filtersOf(query), bases: DATE_BASES },
    ...comparisonFields(query, USUAL_COMPARISON),
    // Without a period the page compares its last complete month.
    ...(periodOf(query) === '' && spend !== null ? { period: spend.days } : {}),
  };
  const data = { ...invoices, gaps, spend: spend?.data ?? null, months, views: views.views, quarantined };
  const page = { view: 'overview', title: 'Overview', section: '/', period: periodOf(query) };
  return { ...page, asOf: sums.asOf ?? asOf, values, data };
}

function countsOf(
  states: readonly ReportRow[],
  { gaps, quarantined }: { readonly gaps: number | null; readonly quarantined: number | null },
) {
  const ofStates = states.map(({ state, invoices }) => ({
    ...{ address: `/invoices?state=${state}`, number: Number(invoices) },
    ...{ label: String(state).replaceAll('_', ' '), needsAction: state === 'needs_attention' },
  }));
  const others = [
    { address: '/quarantine', number: quarantined, label: 'in quarantine' },
    { address: '/reports/gaps', number: gaps, label: 'gaps' },
  ].filter(({ number }) => number !== null);
  return [...ofStates, ...others.map((each) => ({ ...each, needsAction: each.number !== 0 }))];
}

interface InvoiceList extends Pick<InvoicesRequest, 'states' | 'sort'> {
  readonly columns: readonly string[];
}

const ATTENTION: InvoiceList = {
  ...{ states: ['needs_attention'], sort: 'waiting' },
  columns: ['invoice_id', 'invoice_number', 'tenant', 'reason_code', 'reason', 'state_since', 'found'],
};
const CONTRADICTED: InvoiceList = {
  ...{ states: ['loaded'], sort: 'loaded' },
  columns: [
    ...[
      'invoice_id',
      'invoice_number',
      'tenant',
      'discrepancy_rules',
      'stated_total_amount',
      'stated_currency_code',
    ],
    ...['billing_cost', 'currency_code', 'loaded_at', 'found'],
  ],
};
const MAX_LISTED = 20;

async function listed(run: RunStatement, { columns, ...list }: InvoiceList): Promise<readonly ReportRow[]> {
  const rows = await runInvoices(run, { ...list, limit: MAX_LISTED });
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column] ?? null])));
}

function actionsOf(
  attention: readonly ReportRow[],
  contradicted: readonly ReportRow[],
  gaps: readonly ReportRow[],
) {
  const invoice = ({ invoice_id: id, invoice_number: number, tenant }: ReportRow) => ({
    ...{ address: `/invoices/${id}`, name: number ?? id, tenant },
  });
  const actions = [
    ...attention.slice(0, MAX_ACTIONS).map((row) => ({
      ...{ ...invoice(row), what: row.reason ?? row.reason_code, since: instantText(row.state_since) },
    })),
    ...contradicted.slice(0, MAX_ACTIONS).map((row) => ({
      ...{ ...invoice(row), since: instantText(row.loaded_at) },
      what: `Its file differs from what was stated: ${differencesOf(row.discrepancy_rules).join(', ')}`,
    })),
    ...gaps.slice(0, MAX_ACTIONS).map((row) => ({
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
    .filter(([, found]) => Number(found ?? 0) > MAX_ACTIONS)
    .map(([address, found, label]) => ({ address, label: `All ${count(found)} ${label}` }));
  return { actions, more };
}

function listsOf(context: PageContext) {
  return readPublished(context, async (run) => ({
    asOf: await asOfNow(run),
    states: await run('states'),
    attention: await listed(run, ATTENTION),
    contradicted: await listed(run, CONTRADICTED),
  }));
}

async function sumsOf(context: PageContext, query: Query) {
  const { by } = checkFilters(filtersOf(query));
  const { gaps, months } = await withReports(context, { by }, async (session) => ({
    gaps: await gapsOf(context, session),
    months: await session.run('summary'),
  }));
  const spend = await spendOf(context, query, months.rows);
  const ofCurrency = months.rows.filter((row) => row.currency_code === spend?.currency);
  const charts = await drawCharts({ ...months, rows: ofCurrency });
  return {
    ...{ spend, spendProblem: null, gaps: gaps.rows, months: ofCurrency, notes: months.head.notes },
    charts: charts.map((chart) => chartFigure(chart, { address: '/reports/summary' })),
    asOf: asOfHead(months.head),
  };
}

/**
 * The page when its sums exceed the time limit. Programs receive the error, since they would take the missing
 * part for empty.
 */
function withoutSums(error: unknown, request: FastifyRequest) {
  if (!isReportError(error, 'interrupted') || isForPrograms(request)) throw error;
  const nothing = { spend: null, gaps: null, months: null, asOf: null };
  return { ...nothing, spendProblem: error.message, notes: [], charts: [] };
}
