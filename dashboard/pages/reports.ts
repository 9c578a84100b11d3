import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findReport, listReports, PURPOSES, type ReportDefinition } from '../../reports/catalogue.ts';
import { reportColumn } from '../../reports/cells.ts';
import { isComparable, runWithComparison, takesTwoPeriods } from '../../reports/compare.ts';
import { invalidFilter } from '../../reports/errors.ts';
import { bindParameters } from '../../reports/parameters.ts';
import { pivoted } from '../../reports/pivot.ts';
import { columnLabel, fileNameOf } from '../../reports/render/labels.ts';
import { REPORT_FORMATS, type ReportFormat, renderReport } from '../../reports/render/render-report.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import {
  allValues,
  comparedPeriod,
  filtersOf,
  isForPrograms,
  lastValue,
  periodOf,
  type Query,
  withQuery,
} from '../address.ts';
import { comparisonFields, filterFields } from '../filter-form.ts';
import {
  asOfHead,
  cachedPage,
  isRefused,
  type PageContext,
  sendFramed,
  withProblem,
  withReports,
} from '../page-context.ts';
import type { RowAction } from '../plugin-pages.ts';
import { sendWhenReady } from '../stream-page.ts';
import { renderPart } from '../views.ts';
import { reportBody } from './report-body.ts';

const MAX_ROWS_OF_LISTS = 500;
/** At most this many rows are on the page and can be sorted there; a download has all. */
const MAX_ROWS = 5_000;
const DOWNLOADS = [
  ['xlsx', 'Excel'],
  ['csv', 'CSV for spreadsheets'],
  ['csv-bom', 'CSV for Excel'],
  ['csv-exact', 'CSV for programs'],
  ['parquet', 'Parquet'],
  ['json', 'JSON'],
  ['html', 'Page to print (HTML)'],
  ['about', 'About the data (JSON)'],
] as const satisfies readonly (readonly [format: ReportFormat, label: string])[];

const PURPOSE_ICONS = {
  ...{ Spend: 'graph', Change: 'git-compare', Audit: 'search' },
  ...{ 'Month end': 'checklist', Health: 'pulse' },
} as const;

interface Named {
  readonly Params: { readonly name: string };
}

export async function registerReports(app: FastifyInstance, context: PageContext): Promise<void> {
  const reports = listReports();
  app.get('/reports', (request, reply) => {
    const period = periodOf(request.query as Query);
    const values = {
      period: period === '' ? '' : `?${period}`,
      purposes: (Object.keys(PURPOSES) as (keyof typeof PURPOSES)[]).map((purpose) => ({
        ...{ purpose, about: PURPOSES[purpose], icon: PURPOSE_ICONS[purpose] },
        reports: reports.filter((report) => report.purpose === purpose),
      })),
    };
    const data = reports.map(({ name, title, purpose }) => ({ name, title, purpose }));
    const page = { view: 'reports', title: 'Reports', section: '/reports', period, values, data };
    return sendFramed(context, reply, page);
  });
  app.get<Named>('/reports/:name', async (request, reply) => {
    const report = findReport(request.params.name);
    const query = request.query as Query;
    const preset = PRESETS[report.name];
    if (preset !== undefined && !isForPrograms(request))
      return reply.redirect(withQuery('/reports/cost', query, { p_by: preset }));
    // The policy is `same-origin`, because the form has to name its origin.
    if (rowActionsIn(context, report).length > 0) reply.header('referrer-policy', 'same-origin');
    return sendWhenReady(context, reply, {
      ...{ title: titleOf(report, query), section: sectionOf(report), period: periodOf(query) },
      status: isInvalid(report, query) ? 400 : 200,
      waitsForStatus: lastValue(query, 'sort') !== undefined || lastValue(query, 'pivot') !== undefined,
      lead: reportForm(context, report, query),
      page: reportPage(context, request, report),
    });
  });
  app.get<Named>('/reports/:name/download', (request, reply) =>
    download(context, { name: request.params.name, query: request.query as Query, reply }),
  );
}

export function isInvalid(report: ReportDefinition, query: Query): boolean {
  return isRefused(() => {
    bindParameters(report, parametersOf(report, query));
    checkFilters(filtersOf(query));
    comparedPeriod(query);
  });
}

async function reportForm(context: PageContext, report: ReportDefinition, query: Query): Promise<string> {
  const path = `/reports/${report.name}`;
  const given = pageParameters(report, query);
  const parameters = report.parameters.map(({ name, about, choices, takesSeveral, type, default: usual }) => {
    const value = given[name] ?? usual ?? '';
    return {
      ...{ name, value, type, isShort: choices !== null && !takesSeveral },
      about: about.replaceAll(/\$(\w+)/g, (_, other: string) => `“${labelOfParameter(other)}”`),
      choices: choices === null || takesSeveral || choices.includes(value) ? choices : [value, ...choices],
    };
  });
  return renderPart('report-form', {
    ...(await filterFields(context, { query, path })),
    report,
    shortParameters: parameters.filter(({ isShort }) => isShort),
    longParameters: parameters.filter(({ isShort }) => !isShort),
    ...(isComparable(report) || takesTwoPeriods(report) ? comparisonFields(query) : {}),
    downloads: DOWNLOADS.map(([format, label]) => ({
      ...{ label, address: withQuery(`${path}/download`, query, { format }) },
    })),
    kept: ['pivot', 'columns', 'sort', 'show'].flatMap((name) =>
      allValues(query, name).map((value) => ({ name, value })),
    ),
    label: labelOfParameter,
    tabs: report.name === 'cost' ? costTabs(query) : findingTabs(context, path, periodOf(query)),
  });
}

/** Reports that a page shows as `cost` by one column; programs receive them as they are. */
const PRESETS: Readonly<Record<string, string>> = { tenants: 'tenant', carriers: 'carrier', zones: 'zone' };

const COST_BY = [
  ...(['tenant', 'carrier', 'service', 'zone'] as const),
  ...(['origin+zone', 'weight', 'month', 'tenant+carrier'] as const),
];

function costTabs(query: Query): string {
  const title = titleOf(findReport('cost'), query);
  const tabs = COST_BY.map((name) => ({
    label: columnLabel(reportColumn(name.replace('+', '_and_'))),
    address: withQuery('/reports/cost', query, {
      ...{ p_by: name, sort: null, page: null },
      ...COLUMNS_OF_BY,
    }),
    isCurrent: title === costTitle(name),
  }));
  return renderPart('tabs', { tabs });
}

/** They name columns that another `by` lacks. */
const COLUMNS_OF_BY = { columns: null, pivot: null };

function titleOf(report: ReportDefinition, query: Query): string {
  if (report.name !== 'cost') return report.title;
  const usual = report.parameters.find(({ name }) => name === 'by')?.default ?? '';
  return costTitle(parametersOf(report, query).by ?? usual);
}

function costTitle(by: string): string {
  return `Cost by ${by.replaceAll('+', ' and ')}`;
}

/** Reports of findings, which share one page as its tabs. */
const FINDINGS = [
  ...([
    ['duplicates', 'Billed twice'],
    ['rebills', 'Charged again'],
    ['late-billed', 'Late'],
  ] as const),
  ...([
    ['adjustments', 'Adjustments'],
    ['outliers', 'Far above the usual'],
  ] as const),
];

/** Returns an empty text for an address that is not about findings. @param period the chosen days as a query, or '' */
export function findingTabs({ plugins }: PageContext, address: string, period = ''): string {
  const findings = plugins.filter(({ group }) => group === 'Findings');
  const tabs = [
    ...findings.map((plugin) => [plugin.address, plugin.label] as const),
    ...FINDINGS.map(([report, label]) => [`/reports/${report}`, label] as const),
  ];
  if (!tabs.some(([place]) => place === address)) return '';
  const days = period === '' ? '' : `?${period}`;
  return renderPart('tabs', {
    tabs: tabs.map(([place, label]) => ({ label, address: `${place}${days}`, isCurrent: place === address })),
  });
}

function labelOfParameter(name: string): string {
  const label = PARAMETER_LABELS[name] ?? name.replaceAll('_', ' ');
  return `${label.charAt(0).toUpperCase()}${label.slice(1)}`;
}

const PARAMETER_LABELS: Readonly<Record<string, string>> = {
  ...{ first_from: 'first period, from', first_to: 'first period, to' },
  ...{ second_from: 'second period, from', second_to: 'second period, to', in: 'in one currency' },
};

/** An exceeded limit is not cached, so the next reader retries. */
function reportPage(context: PageContext, request: FastifyRequest, report: ReportDefinition) {
  const query = request.query as Query;
  const title = titleOf(report, query);
  const page = { view: 'report', title, section: sectionOf(report), period: periodOf(query) };
  const make = async () => {
    const parameters = pageParameters(report, query);
    const result = await recentResult(context, { report, query, parameters });
    const { body, data } = await reportBody(report, query, result, { of: actions, parameters });
    return { asOf: asOfHead(result.head), values: { body, problem: null }, data };
  };
  const actions = rowActionsIn(context, report);
  // A page whose rows show decisions is not cached, because decisions change without a publication.
  const isKept = actions.every(({ notes }) => notes === undefined);
  return withProblem(context, page, () => (isKept ? cachedPage(context, request, make) : make()));
}

function rowActionsIn({ canAct, plugins }: PageContext, { name }: ReportDefinition): readonly RowAction[] {
  return canAct ? plugins.flatMap(({ rows }) => (rows?.reports.includes(name) ? [rows] : [])) : [];
}

function sectionOf({ name }: ReportDefinition): string {
  if (FINDINGS.some(([report]) => report === name)) return '/money-at-risk';
  return name === 'gaps' ? '/reports/gaps' : '/reports';
}

async function download(
  context: PageContext,
  { name, query, reply }: { readonly name: string; readonly query: Query; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const report = findReport(name);
  const format = REPORT_FORMATS.find((each) => each === lastValue(query, 'format'));
  if (!format) throw invalidFilter(`Take one of ${REPORT_FORMATS.join(', ')} as format.`);
  const whole = await resultOf(context, { report, query, parameters: parametersOf(report, query) });
  const pivot = lastValue(query, 'pivot');
  const result = pivot === undefined ? whole : pivoted(report, whole, pivot).result;
  return sendFile(
    reply,
    result,
    format,
    withQuery(`/reports/${report.name}/download`, query, { format: 'about' }),
  );
}

/** @param about address of the description of the rows (RFC 8288, CSV on the Web) */
export async function sendFile(
  reply: FastifyReply,
  result: ReportResult,
  format: ReportFormat,
  about: string,
): Promise<FastifyReply> {
  const { body, contentType, extension } = await renderReport(result, format);
  return reply
    .type(contentType)
    .header('link', `<${about}>; rel="describedby"; type="application/json"`)
    .header('content-disposition', `attachment; filename="${fileNameOf(result, extension)}"`)
    .send(typeof body === 'string' ? body : Buffer.from(body));
}

interface ResultRequest {
  readonly report: ReportDefinition;
  readonly query: Query;
  readonly parameters: Readonly<Record<string, string>>;
}

function resultOf(
  context: PageContext,
  { report, query, parameters }: ResultRequest,
  limits: { readonly maxRows?: number } = {},
): Promise<ReportResult> {
  const isMerged = lastValue(query, 'compare') !== undefined || lastValue(query, 'pivot') !== undefined;
  return runWithComparison(
    (request) =>
      withReports(
        context,
        request.filters,
        async (session) => {
          const result = await session.run(report.name, request.parameters);
          if (limits.maxRows !== undefined && isMerged) refuseCut(report, result);
          return result;
        },
        limits,
      ),
    report,
    { filters: filtersOf(query), parameters, compare: lastValue(query, 'compare') },
  );
}

/** A row that is left out would count as nothing in a comparison or a pivot. */
function refuseCut({ name, parameters }: ReportDefinition, { head, rows }: ReportResult): void {
  if (head.found <= rows.length || parameters.some((parameter) => parameter.name === 'limit')) return;
  throw invalidFilter(
    `Report ${name} has ${head.found} rows, and a comparison or pivot takes at most ${MAX_ROWS}: narrow it by a filter.`,
  );
}

function recentResult(context: PageContext, request: ResultRequest): Promise<ReportResult> {
  const { report, query, parameters } = request;
  const name = JSON.stringify([
    report.name,
    filtersOf(query),
    parameters,
    lastValue(query, 'compare') ?? null,
    lastValue(query, 'pivot') !== undefined,
  ]);
  return context.cache.recent(name, () => resultOf(context, request, { maxRows: MAX_ROWS }));
}

/** Downloads are whole unless the address has a limit. */
function pageParameters(report: ReportDefinition, query: Query): Record<string, string> {
  const isLong = report.parameters.some(({ name }) => name === 'limit');
  return { ...(isLong ? { limit: String(MAX_ROWS_OF_LISTS) } : {}), ...parametersOf(report, query) };
}

/** The report's parameters are sent as `p_name`, so that none is taken for a filter. */
function parametersOf(report: ReportDefinition, query: Query): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { name, takesSeveral } of report.parameters) {
    const values = allValues(query, `p_${name}`).filter((each) => each !== '');
    const value = takesSeveral ? values.join('+') : values.at(-1);
    if (value !== undefined && value !== '') given[name] = value;
  }
  return given;
}
