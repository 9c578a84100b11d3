import { sumOfAmounts } from '../lib/decimal.ts';
import { type ChartSpec, findReport, type ReportDefinition } from './catalogue.ts';
import { type ReportCell, type ReportColumn, type ReportRow, reportColumn } from './cells.ts';
import { comparedDays, comparesDays, markIncomplete } from './completeness.ts';
import { invalidFilter } from './errors.ts';
import { openPublishedFile, type PublishedFile, withTimeLimit } from './open-published-file.ts';
import { loadOptionalTables, type OptionalTables } from './optional-tables.ts';
import { type BoundParameters, bindParameters, setParameterVariables } from './parameters.ts';
import {
  createSharedViews,
  type Prepared,
  prepareSession,
  selectPartner,
  selectPartners,
} from './prepare-session.ts';
import { answerColumn, summedColumns } from './render/table-order.ts';
import { checkFilters, type ReportFilters } from './report-filters.ts';
import { limitNotes, reportHead } from './report-head.ts';
import { type ReportResult, readColumns, readRows } from './report-result.ts';
import { reportingNotes } from './reporting-currency.ts';
import type { ShipmentConditions } from './shipments/conditions.ts';
import {
  listShipments,
  type ShipmentsRequest,
  type ShipmentsStream,
  type StreamRequest,
  streamShipments,
  totalShipments,
} from './shipments/list-shipments.ts';

export type ReportSession = Awaited<ReturnType<typeof openReportSession>>;

export interface SessionRequest {
  readonly databasePath: string;
  readonly filters?: ReportFilters;
  readonly tables?: OptionalTables;
  /** The time limit of the whole session in milliseconds; the default is 60 000. */
  readonly timeLimitMs?: number;
  /** Of a report's answer, for readers that show a part of it: the rows with the largest cost, with the sums of all. */
  readonly maxRows?: number;
}

const DEFAULT_TIME_LIMIT_MS = 60_000;

/** @throws ReportError a filter is invalid, or nothing is published */
export async function openReportSession(request: SessionRequest) {
  const filters = checkFilters(request.filters ?? {});
  const timeLimitMs = request.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS;
  if (!(timeLimitMs > 0)) throw invalidFilter('The time limit must be longer than 0 s.');
  const file = await openPublishedFile(request.databasePath);
  const deadline = Date.now() + timeLimitMs;
  let preparing: Promise<Prepared> | undefined;
  const prepared = (): Promise<Prepared> => {
    preparing ??= prepareSession(file, filters);
    return preparing;
  };

  async function answer(
    report: ReportDefinition,
    parameters: Readonly<Record<string, string>>,
  ): Promise<ReportResult> {
    const session = await prepared();
    const counts = await session.count();
    const values = bindParameters(report, parameters);
    const { missing, files } = await loadOptionalTables(file, report, request.tables ?? {}, values.texts);
    const { columns, rows, found, whole, notes } = await answerEachPartner(file, {
      ...{ report, values, session, maxRows: request.maxRows ?? null },
    });
    if (found > rows.length && parameters.limit === undefined && request.maxRows === undefined) {
      throw invalidFilter(
        `Report ${report.name} has ${found} rows, and lists at most ${values.texts.limit} of a partner and currency by default: narrow it, or set its parameter limit, for all rows to ${found}.`,
      );
    }
    const { name, title, grain, means, order, limits, example } = report;
    const listsInvoices = report.reads.includes('invoices');
    const showsStates = listsInvoices || report.reads.includes('states');
    // A chart that adds up rows would add up only those within the limit.
    const drawn = drawableCharts(report, columns).filter(
      ({ roles }) => whole.length === 0 || roles.combine === undefined,
    );
    const charts = session.partners.length > 1 ? drawn.map(splitChartByPartner) : drawn;
    const result: ReportResult = {
      ...{ name, title, grain, means, order, limits, example, charts, columns, rows },
      ...{ summed: summedColumns(report), missing },
      ...(whole.length === 0 ? {} : { whole }),
      head: reportHead({
        ...{ prepared: session, counts, files, found, rows: rows.length, parameters: values.texts },
        notes: [...missing, ...notes, ...limitNotes(rows.length, found)],
        completeness: await session.completeness(),
        comparesLevels: report.reads.includes('levels'),
        readsStates: showsStates,
        // Reports of invoices list them.
        showsCompleteness: showsStates || comparesDays(report),
        invoicesLeftOut: listsInvoices ? await invoicesLeftOut(file) : 0,
      }),
    };
    return comparesDays(report) ? markIncomplete(result, await comparedDays(session, result)) : result;
  }

  function limited<T>(name: string, work: (session: Prepared) => Promise<T>): Promise<T> {
    return withTimeLimit({ file, name, timeLimitMs, deadline }, async () => work(await prepared()));
  }

  return {
    async run(
      nameOrReport: string | ReportDefinition,
      parameters: Readonly<Record<string, string>> = {},
    ): Promise<ReportResult> {
      // Before any query, so that a misspelled name does not end as a timeout.
      const report = typeof nameOrReport === 'string' ? findReport(nameOrReport) : nameOrReport;
      bindParameters(report, parameters);
      return limited(report.name, () => answer(report, parameters));
    },
    /** With the totals of all that match. @throws ReportError */
    shipments: (request: ShipmentsRequest) =>
      limited('of shipments', (session) => listShipments(file, session, request)),
    /** `write` must read the batches to their end. @throws ReportError also while it reads */
    shipmentsFile: <T>(request: StreamRequest, write: (found: ShipmentsStream) => Promise<T>) =>
      limited('of shipments', async (session) => write(await streamShipments(file, session, request))),
    totalShipments: (conditions: ShipmentConditions) =>
      limited('of shipments', (session) => totalShipments(file, session, conditions)),
    close: () => file.close(),
  };
}

interface Answer {
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  readonly found: number;
  /** Sums and numbers of all rows by currency (`rows`), where the limit leaves some out. */
  readonly whole: readonly ReportRow[];
  readonly notes: readonly string[];
}

/** No sum, share or rank crosses partners. */
async function answerEachPartner(
  file: PublishedFile,
  request: {
    readonly report: ReportDefinition;
    readonly values: BoundParameters;
    readonly session: Prepared;
    readonly maxRows: number | null;
  },
): Promise<Answer> {
  const { report, values, session, maxRows } = request;
  const isAlone = session.partners.length === 1;
  const answers: Answer[] = [];
  try {
    const sql = await setParameterVariables(file, report, values);
    for (const partner of session.partners) {
      if (!isAlone) await selectPartner(file, partner ?? '');
      await createSharedViews(file, report.sql);
      const partnerId = partner === '' ? null : partner;
      const listed = maxRows === null ? { sql, totals: null } : await largestRows(file, sql, maxRows);
      const reader = await file.query(listed.sql);
      const all = readColumns(reader, { ...report, units: unitsOf(report, values) });
      const columns = visibleColumns(all, report, values);
      const rows = readRows(reader, all, {
        kept: columns,
        also: { partner_id: partnerId },
      });
      const currency = values.texts.in ?? null;
      const notes = currency === null ? [] : await reportingNotes(file, currency);
      answers.push({
        notes: isAlone ? notes : notes.map((note) => `Partner ${partner || '(not known)'}: ${note}`),
        columns: [...columns, reportColumn('partner_id', 'text', { isDetail: isAlone })],
        rows,
        ...(await totalsOf(file, { report, values, columns, rows, partnerId, from: listed.totals })),
      });
    }
  } finally {
    if (!isAlone) await selectPartners(file, session);
  }
  const isCut = answers.some(({ whole }) => whole.length > 0);
  return {
    columns: answers[0]?.columns ?? [],
    rows: answers.flatMap(({ rows }) => rows),
    found: answers.reduce((sum, { found }) => sum + found, 0),
    whole: isCut ? answers.flatMap((answer) => wholeOf(answer, summedOf(report, answer.columns))) : [],
    notes: answers.flatMap(({ notes }) => notes),
  };
}

/** Of a partner whose rows are all there, their own sums. */
function wholeOf({ rows, whole }: Answer, names: readonly string[]): readonly ReportRow[] {
  if (whole.length > 0) return whole;
  return [...Map.groupBy(rows, ({ currency_code }) => currency_code ?? null)].map(([currency, of]) => ({
    ...{ currency_code: currency, rows: of.length, partner_id: of[0]?.partner_id ?? null },
    ...Object.fromEntries(names.map((name) => [name, sumOf(of.map(({ [name]: cell }) => cell ?? null))])),
  }));
}

function sumOf(cells: readonly ReportCell[]): ReportCell {
  const known = cells.filter((cell) => cell !== null);
  if (known.length === 0) return null;
  return typeof known[0] === 'number'
    ? known.reduce<number>((sum, cell) => sum + Number(cell), 0)
    : sumOfAmounts(known.map(String));
}

function summedOf(report: ReportDefinition, columns: readonly ReportColumn[]): readonly string[] {
  const names = [...summedColumns(report), ...answerColumn(report.name)];
  return columns.map(({ name }) => name).filter((name) => names.includes(name));
}

/** A unit `$in` is the value of that parameter. */
function unitsOf({ units }: ReportDefinition, { texts }: BoundParameters): ReportDefinition['units'] {
  return Object.fromEntries(
    Object.entries(units).map(([name, unit]) => [
      name,
      unit.startsWith('$') ? (texts[unit.slice(1)] ?? '-') : unit,
    ]),
  );
}

/** A report without a limit has as many rows as its grain has values. @returns `totals`: all its rows, where some are left out */
async function largestRows(
  file: PublishedFile,
  sql: string,
  maxRows: number,
): Promise<{ readonly sql: string; readonly totals: string | null }> {
  await file.query(`create or replace temp table whole_answer as ${sql}`);
  const [[found] = []] = (await file.query('select count(*) from whole_answer')).getRows();
  if (Number(found) <= maxRows) return { sql: 'from whole_answer', totals: null };
  const names = (await file.query('select column_name from (describe whole_answer)')).getRows().flat();
  const order = names.includes('billing_cost') ? 'order by billing_cost desc nulls last, rowid' : '';
  return { sql: `from whole_answer ${order} limit ${maxRows}`, totals: 'from whole_answer' };
}

/** Without the limit, if it may have left out rows of a currency. */
async function totalsOf(
  file: PublishedFile,
  { report, values, columns, rows, partnerId, from }: TotalsRequest,
): Promise<Pick<Answer, 'found' | 'whole'>> {
  const { bound, texts } = values;
  const none = { found: rows.length, whole: [] };
  const counts = [...Map.groupBy(rows, ({ currency_code }) => currency_code).values()];
  const isCut = typeof texts.limit === 'string' && counts.some((of) => of.length >= Number(texts.limit));
  if (!isCut && from === null) return none;
  if (!columns.some(({ name }) => name === 'currency_code')) {
    const [[found] = []] = (await file.query(`select count(*) ${from}`)).getRows();
    return { found: Number(found), whole: [] };
  }
  const sums = summedOf(report, columns).map((name) => `sum(${name}) as ${name}`);
  const sql = isCut
    ? await setParameterVariables(file, report, { texts, bound: { ...bound, limit: MAX_LIMIT } })
    : (from ?? '');
  const grouped = ['currency_code', 'count(*) as rows', ...sums].join(', ');
  const reader = await file.query(
    `select ${grouped} from (\n${sql}\n) group by currency_code order by currency_code`,
  );
  const whole = readRows(reader, readColumns(reader), { also: { partner_id: partnerId } });
  const found = whole.reduce((sum, row) => sum + Number(row.rows), 0);
  return found > rows.length ? { found, whole } : none;
}

interface TotalsRequest {
  readonly report: ReportDefinition;
  readonly values: BoundParameters;
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  readonly partnerId: string | null;
  /** All rows of which `rows` are the largest; null when `rows` has no other limit than the report's. */
  readonly from: string | null;
}

const MAX_LIMIT = 999_999_999;

function splitChartByPartner(chart: ChartSpec): ChartSpec {
  const role = chart.kind === 'line' ? 'series' : chart.kind === 'heatmap' ? 'y' : 'key';
  const named = chart.roles[role];
  const both = named === undefined ? 'partner_id' : `partner_id+${named}`;
  return { ...chart, roles: { ...chart.roles, [role]: both } };
}

async function invoicesLeftOut(file: PublishedFile): Promise<number> {
  const [row] = await file.run('invoices-left-out');
  return Number(row?.invoices ?? 0);
}

export interface ReportRequest extends SessionRequest {
  readonly name: string;
  readonly parameters?: Readonly<Record<string, string>>;
}

export async function runReport({ name, parameters, ...request }: ReportRequest): Promise<ReportResult> {
  const session = await openReportSession(request);
  try {
    return await session.run(name, parameters);
  } finally {
    session.close();
  }
}

function visibleColumns(
  all: readonly ReportColumn[],
  { groupColumns, parameters }: ReportDefinition,
  { texts }: BoundParameters,
): readonly ReportColumn[] {
  const groupOf = ({ name }: ReportColumn): string => groupColumns[name] ?? '';
  const isOfParameter = (column: ReportColumn) => parameters.some(({ name }) => name === groupOf(column));
  const columns = all.filter((column) => !isOfParameter(column) || texts[groupOf(column)] !== null);
  const groups = [...(texts.by?.split('+') ?? []), ...(texts.grain == null ? [] : [texts.grain])];
  const placeOf = (column: ReportColumn): number => groups.indexOf(groupOf(column));
  const isGroup = (column: ReportColumn): boolean => groupOf(column) !== '' && !isOfParameter(column);
  const [first] = columns.entries().find(([, column]) => isGroup(column)) ?? [0];
  const chosen = columns.filter(isGroup).filter((column) => placeOf(column) >= 0);
  // Columns in the order in which they are named.
  return columns
    .filter((column) => !isGroup(column))
    .toSpliced(first, 0, ...chosen.toSorted((one, other) => placeOf(one) - placeOf(other)));
}

/** Returns, for reports with groups, the first chart whose columns are visible and that has one value in each place. */
function drawableCharts(
  { charts, groupColumns, parameters }: ReportDefinition,
  columns: readonly ReportColumn[],
): readonly ChartSpec[] {
  if (Object.keys(groupColumns).length === 0) return charts;
  const names = new Set(columns.map(({ name }) => name));
  const places = ({ roles: { combine: _, ...places } }: ChartSpec): readonly string[] =>
    Object.values(places).flatMap((role) => role.split('+'));
  const chosen = Object.keys(groupColumns).filter(
    (name) => names.has(name) && !parameters.some((parameter) => parameter.name === groupColumns[name]),
  );
  return charts
    .filter((chart) => places(chart).every((name) => names.has(name)))
    .filter(
      (chart) => chart.roles.combine !== undefined || chosen.every((name) => places(chart).includes(name)),
    )
    .slice(0, 1);
}
