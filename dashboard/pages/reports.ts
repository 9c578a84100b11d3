/** Every report with its filters as a form, its chart, its table and its downloads. */

import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  findReport,
  listReports,
  PURPOSES,
  type Purpose,
  type ReportDefinition,
} from '../../reports/catalogue.ts';
import { isComparable, runWithComparison, takesTwoPeriods } from '../../reports/compare.ts';
import { invalidFilter, isReportError } from '../../reports/errors.ts';
import { bindParameters } from '../../reports/parameters.ts';
import { pivoted } from '../../reports/pivot.ts';
import { fileNameOf } from '../../reports/render/labels.ts';
import { REPORT_FORMATS, type ReportFormat, renderReport } from '../../reports/render/render-report.ts';
import { checkFilters } from '../../reports/report-filters.ts';
import type { ReportResult } from '../../reports/report-result.ts';
import { all, filtersOf, one, periodOf, type Query, withQuery } from '../address.ts';
import { addressOfPage, patienceFor } from '../figures.ts';
import { filterFields } from '../filter-form.ts';
import type { RowChoice } from '../guest-pages.ts';
import {
  ask,
  asOfHead,
  asOfNow,
  type PageContext,
  type PublishedPage,
  sendFramed,
  withReports,
} from '../page-context.ts';
import { sendWhenKnown } from '../stream-page.ts';
import { renderPart } from '../views.ts';
import { comparedPeriod } from './compared-period.ts';

import { shownReport } from './report-page.ts';

const MAX_ROWS_OF_LISTS = 500;
const DOWNLOADS: readonly (readonly [format: ReportFormat, label: string])[] = [
  ['xlsx', 'Excel'],
  ['csv', 'CSV'],
  ['csv-bom', 'CSV for Excel'],
  ['parquet', 'Parquet'],
  ['json', 'JSON'],
  ['html', 'Page to print (HTML)'],
  ['about', 'About the figures (JSON)'],
];

const PURPOSE_ICONS: Readonly<Record<Purpose, string>> = {
  ...{ Spend: 'graph', Change: 'git-compare', Audit: 'search' },
  ...{ 'Month end': 'checklist', Health: 'pulse' },
};

interface Named {
  readonly Params: { readonly name: string };
}

/** Serves `/reports`, a page for each report, and its downloads in every format. */
export async function registerReports(app: FastifyInstance, context: PageContext): Promise<void> {
  for (const report of listReports()) {
    context.cache.offer(`/reports/${report.name}`, () => reportPage(context, report, {}));
  }
  app.get('/reports', async (request, reply) => {
    const reports = listReports();
    const period = periodOf(request.query as Query);
    const values = {
      period: period === '' ? '' : `?${period}`,
      purposes: Object.entries(PURPOSES).map(([purpose, about]) => ({
        ...{ purpose, about, icon: PURPOSE_ICONS[purpose as Purpose] },
        reports: reports.filter((report) => report.purpose === purpose),
      })),
    };
    return sendFramed(context, reply, {
      ...({ view: 'reports', title: 'Reports', section: '/reports' } as const),
      ...{ period, values, figures: reports.map(({ name, title, purpose }) => ({ name, title, purpose })) },
    });
  });
  app.get<Named>('/reports/:name', async (request, reply) => {
    const report = findReport(request.params.name);
    const query = request.query as Query;
    // The form on it says where it stands; the policy of other pages would have browsers say "null".
    if (choiceIn(context) !== null) reply.header('referrer-policy', 'same-origin');
    return sendWhenKnown(context, reply, {
      ...{ title: report.title, section: sectionOf(report), status: refuses(report, query) ? 400 : 200 },
      period: periodOf(query),
      // Its columns are known with its rows, and so is what stands across.
      statusComesWithFigures: one(query, 'sort') !== undefined || one(query, 'pivot') !== undefined,
      lead: reportForm(context, report, query),
      page: context.cache.page(
        addressOfPage(request),
        () => reportPage(context, report, query),
        patienceFor(request),
      ),
    });
  });
  app.get<Named>('/reports/:name/download', (request, reply) =>
    download(context, { name: request.params.name, query: request.query as Query, reply }),
  );
}

/** Checked before anything is read, so that a page which is sent in parts has the right status as well. */
export function refuses(report: ReportDefinition, query: Query): boolean {
  try {
    bindParameters(report, parametersOf(report, query));
    checkFilters(filtersOf(query));
    comparedPeriod(query);
    return false;
  } catch (error) {
    if (isReportError(error, 'invalid-filter')) return true;
    throw error;
  }
}

/** The filters as they were asked for, to be changed while the figures are still being read. */
async function reportForm(context: PageContext, report: ReportDefinition, query: Query): Promise<string> {
  const path = `/reports/${report.name}`;
  const given = shownParameters(report, query);
  const compare = one(query, 'compare') ?? '';
  const parameters = report.parameters.map(({ name, about, choices, takesSeveral, type, default: usual }) => {
    const value = given[name] ?? usual ?? '';
    const offered =
      choices === null || takesSeveral || choices.includes(value) ? choices : [value, ...choices];
    const told = about.replaceAll(/\$(\w+)/g, (_, other: string) => `“${labelOfParameter(other)}”`);
    return { name, about: told, choices: offered, value, type, isShort: choices !== null && !takesSeveral };
  });
  return renderPart('report-form', {
    ...(await filterFields(context, { query, path })),
    report,
    shortParameters: parameters.filter(({ isShort }) => isShort),
    longParameters: parameters.filter(({ isShort }) => !isShort),
    compare: isComparable(report) || takesTwoPeriods(report) ? compare : null,
    comparisons: COMPARED.some(([value]) => value === compare) ? COMPARED : [...COMPARED, [compare, compare]],
    downloads: DOWNLOADS.map(([format, label]) => ({
      ...{ label, address: withQuery(`${path}/download`, query, { format }) },
    })),
    kept: ['pivot', 'columns', 'sort', 'show'].flatMap((name) =>
      all(query, name).map((value) => ({ name, value })),
    ),
    label: labelOfParameter,
  });
}

const COMPARED: readonly (readonly [value: string, label: string])[] = [
  ['', 'No comparison'],
  ['previous', 'Against the period before'],
  ['last-year', 'Against a year earlier'],
];

/** `first_from` is the start of the first period. */
function labelOfParameter(name: string): string {
  const words = PARAMETER_LABELS[name] ?? name.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

const PARAMETER_LABELS: Readonly<Record<string, string>> = {
  ...{ first_from: 'first period, from', first_to: 'first period, to' },
  ...{ second_from: 'second period, from', second_to: 'second period, to' },
};

/** A refused filter or a limit that ran out leaves the form standing, so that it can be mended. */
async function reportPage(
  context: PageContext,
  report: ReportDefinition,
  query: Query,
): Promise<PublishedPage & { readonly status: number }> {
  let shown: Awaited<ReturnType<typeof shownReport>> = { values: {}, figures: undefined };
  let asOf: string | null = null;
  let problem: string | null = null;
  let status = 200;
  try {
    const parameters = shownParameters(report, query);
    const answered = await recentAnswer(context, { report, query, parameters });
    const of = choiceIn(context);
    shown = await shownReport(report, query, answered, of && { of, parameters });
    asOf = asOfHead(answered.head);
  } catch (error) {
    if (isReportError(error, 'invalid-filter')) status = 400;
    else if (isReportError(error, 'interrupted')) status = 503;
    else throw error;
    problem = error.message;
  }
  return {
    status,
    asOf: asOf ?? (await ask(context, asOfNow)),
    view: 'report',
    title: report.title,
    section: sectionOf(report),
    period: periodOf(query),
    values: { ...shown.values, problem },
    figures: problem === null ? shown.figures : { error: problem },
  };
}

/** Operator actions on rows; null: none. */
function choiceIn({ canAct, guests }: PageContext): RowChoice | null {
  return (canAct ? guests.find(({ rows }) => rows !== null)?.rows : null) ?? null;
}

function sectionOf(report: ReportDefinition): string {
  return report.name === 'gaps' ? '/reports/gaps' : '/reports';
}

async function download(
  context: PageContext,
  asked: { readonly name: string; readonly query: Query; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const report = findReport(asked.name);
  const format = REPORT_FORMATS.find((each) => each === one(asked.query, 'format'));
  if (!format) throw invalidFilter(`Take one of ${REPORT_FORMATS.join(', ')} as format.`);
  const parameters = parametersOf(report, asked.query);
  const answered = await answer(context, { report, query: asked.query, parameters });
  const pivot = one(asked.query, 'pivot');
  const result = pivot === undefined ? answered : pivoted(report, answered, pivot).result;
  const rendered = await renderReport(result, format);
  // Rows alone have no head; this says where it is (RFC 8288, as CSV on the Web names its metadata).
  const about = withQuery(`/reports/${report.name}/download`, asked.query, { format: 'about' });
  return asked.reply
    .type(rendered.contentType)
    .header('link', `<${about}>; rel="describedby"; type="application/json"`)
    .header('content-disposition', `attachment; filename="${fileNameOf(result, rendered.extension)}"`)
    .send(typeof rendered.body === 'string' ? rendered.body : Buffer.from(rendered.body));
}

interface Asked {
  readonly report: ReportDefinition;
  readonly query: Query;
  readonly parameters: Readonly<Record<string, string>>;
}

function answer(context: PageContext, { report, query, parameters }: Asked): Promise<ReportResult> {
  return runWithComparison(
    (asked) => withReports(context, asked.filters, (session) => session.run(report.name, asked.parameters)),
    report,
    { filters: filtersOf(query), parameters, compare: one(query, 'compare') },
  );
}

/** Results are cached for a while, so that another order, page or column needs no query. */
function recentAnswer(context: PageContext, asked: Asked): Promise<ReportResult> {
  const { report, query, parameters } = asked;
  const name = JSON.stringify([report.name, filtersOf(query), parameters, one(query, 'compare') ?? null]);
  return context.cache.recent(name, () => answer(context, asked));
}

/** On a page a list that may be long is limited and says so, its downloads are whole unless a limit was typed. */
function shownParameters(report: ReportDefinition, query: Query): Record<string, string> {
  const isLong = report.parameters.some(({ name }) => name === 'limit');
  return { ...(isLong ? { limit: String(MAX_ROWS_OF_LISTS) } : {}), ...parametersOf(report, query) };
}

/** The report's own parameters are sent as `p_name`, so that none is taken for a filter. */
function parametersOf(report: ReportDefinition, query: Query): Record<string, string> {
  const given: Record<string, string> = {};
  for (const { name, takesSeveral } of report.parameters) {
    const value = takesSeveral
      ? all(query, `p_${name}`)
          .filter((each) => each !== '')
          .join('+') || undefined
      : one(query, `p_${name}`);
    if (value !== undefined) given[name] = value;
  }
  return given;
}
