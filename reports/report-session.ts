/** A session on the published file with one set of filters, in which any number of reports run. */

import { jsonValue } from '../lib/duckdb-values.ts';
import { type ChartSpec, findReport, type ReportDefinition } from './catalogue.ts';
import type { ReportColumn, ReportRow } from './cells.ts';
import { comparedDays, comparesDays, markIncomplete, notCountedNotes } from './completeness.ts';
import { invalidFilter } from './errors.ts';
import { matchNotes } from './match-filters.ts';
import { loadOptionalTables, type OptionalTables } from './optional-tables.ts';
import { type BoundParameters, bindParameters, setParameterVariables } from './parameters.ts';
import {
  type Counted,
  createSharedViews,
  type Prepared,
  prepareSession,
  readsInvoices,
  readsStates,
  selectPartner,
  selectPartners,
} from './prepare-session.ts';
import { openPublishedFile, type PublishedFile, withTimeLimit } from './published-file.ts';
import { summedColumns } from './render/table-order.ts';
import { checkFilters, isUnfiltered, type ReportFilters } from './report-filters.ts';
import { headNotes, levelsOf, limitNotes, provedPercent, weighedIn } from './report-head.ts';
import { type ReportResult, readColumns, readRows } from './report-result.ts';
import type { ShipmentConditions } from './shipments/conditions.ts';
import {
  listShipments,
  type ShipmentsPage,
  type ShipmentsRequest,
  type ShipmentsStream,
  type ShipmentTotals,
  streamShipments,
  totalShipments,
} from './shipments/list-shipments.ts';

export type { Counted } from './prepare-session.ts';

export interface ReportSession {
  /**
   * @param report a name, or a definition written as reports are
   * @throws ReportError
   */
  run(
    report: string | ReportDefinition,
    parameters?: Readonly<Record<string, string>>,
  ): Promise<ReportResult>;
  /**
   * A page of shipments, with the totals of all that match.
   *
   * @throws ReportError as `run`
   */
  shipments(request: ShipmentsRequest): Promise<ShipmentsPage>;
  /**
   * All shipments that match, as a stream; `write` reads the batches to their end.
   *
   * @throws ReportError as `run`, also while `write` reads
   */
  shipmentsFile<T>(
    request: Omit<ShipmentsRequest, 'limit' | 'totals'> & { readonly limit: number | null },
    write: (found: ShipmentsStream) => Promise<T>,
  ): Promise<T>;
  /** For `totals` of several pages. */
  totalShipments(conditions: ShipmentConditions): Promise<ShipmentTotals>;
  /** For `counted` of later sessions without filters. */
  count(): Promise<Counted>;
  close(): void;
}

export interface SessionRequest {
  /** `reports.duckdb`. */
  readonly databasePath: string;
  readonly filters?: ReportFilters;
  /** CSV files with expected rates or own costs, for the reports that join them. */
  readonly tables?: OptionalTables;
  /** For the whole session; the statement that runs then is interrupted. 60 000 by default. */
  readonly timeLimitMs?: number;
  /** The counts of a session without filters, used if this one has none and reads the same publication. */
  readonly counted?: Counted | undefined;
}

const DEFAULT_TIME_LIMIT_MS = 60_000;

/**
 * @throws ReportError a filter is invalid, or nothing is published
 */
export async function openReportSession(request: SessionRequest): Promise<ReportSession> {
  const filters = checkFilters(request.filters ?? {});
  const timeLimitMs = request.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS;
  if (!(timeLimitMs > 0)) throw invalidFilter('The time limit must be longer than 0 s.');
  const file = await openPublishedFile(request.databasePath);
  const deadline = Date.now() + timeLimitMs;
  const counted = isUnfiltered(filters) && file.isWhole ? request.counted : undefined;
  let preparing: Promise<Prepared> | undefined;
  const prepared = (): Promise<Prepared> => {
    preparing ??= prepareSession(file, filters, counted);
    return preparing;
  };

  async function answer(
    report: ReportDefinition,
    parameters: Readonly<Record<string, string>>,
  ): Promise<ReportResult> {
    const session = await prepared();
    const { asOf, publication, matches } = session;
    const counts = await session.count();
    const comparesLevels = /\bfiltered_shipments\b/.test(report.sql);
    const level = comparesLevels ? 'all' : session.level;
    const values = bindParameters(report, parameters);
    const { missing, files } = await loadOptionalTables(file, report, request.tables ?? {});
    const { columns, rows, found } = await answerEachPartner(file, { report, values, session });
    if (found > rows.length && parameters.limit === undefined) {
      throw invalidFilter(
        `Report ${report.name} has ${found} rows, and lists at most ${values.shown.limit} of a partner by itself: narrow it, or set its parameter limit, for all of them to ${found}.`,
      );
    }
    const selected = counts.filter((count) => levelsOf(level).includes(count.level));
    const listsInvoices = readsInvoices(report.sql);
    const { title, grain, means, order, cannotSay, example } = report;
    const completeness = await session.completeness();
    const showsStates = readsStates(report.sql);
    const drawn = drawableCharts(report, columns);
    const charts = session.partners.length > 1 ? drawn.map(byPartner) : drawn;
    const result: ReportResult = {
      ...{ name: report.name, title, grain, means, order, cannotSay, example, charts, columns, rows },
      summed: summedColumns(report),
      head: {
        ...{ filters, matches, level, asOf, publication },
        parameters: values.shown,
        timeZone: 'UTC',
        ...{ rows: rows.length, found },
        shipments: selected.reduce((sum, count) => sum + count.shipments, 0),
        weighed: weighedIn(selected),
        provedPercent: provedPercent(selected),
        completeness,
        files,
        notes: [
          ...missing,
          ...limitNotes({ rows: rows.length, found }),
          ...files,
          // Reports of invoices list them.
          ...(showsStates || comparesDays(report) ? [] : notCountedNotes(completeness)),
          ...matchNotes(matches),
          ...(session.partners.length > 1
            ? [
                `${session.partners.length} partners, told apart by partner_id: each has rows of its own, and nothing is added across them.`,
              ]
            : []),
          ...headNotes({
            counts,
            level,
            chosen: filters.level !== null,
            comparesLevels,
            filters,
            readsStates: showsStates,
            invoicesLeftOut: listsInvoices ? await invoicesLeftOut(file) : 0,
          }),
        ],
      },
    };
    return comparesDays(report) ? markIncomplete(result, await comparedDays(session, result)) : result;
  }

  return {
    async run(nameOrReport, parameters = {}) {
      // Before any query, so that a misspelled name does not end as a timeout.
      const report = typeof nameOrReport === 'string' ? await findReport(nameOrReport) : nameOrReport;
      const { name } = report;
      bindParameters(report, parameters);
      return withTimeLimit({ file, name, timeLimitMs, deadline }, () => answer(report, parameters));
    },
    shipments: (request) => {
      const limit = { file, name: 'of shipments', timeLimitMs, deadline };
      return withTimeLimit(limit, async () =>
        listShipments(file, { prepared: await prepared(), filters }, request),
      );
    },
    shipmentsFile: (request, write) => {
      const limit = { file, name: 'of shipments', timeLimitMs, deadline };
      return withTimeLimit(limit, async () =>
        write(await streamShipments(file, { prepared: await prepared(), filters }, request)),
      );
    },
    totalShipments: (conditions) => {
      const limit = { file, name: 'of shipments', timeLimitMs, deadline };
      return withTimeLimit(limit, async () => totalShipments(file, await prepared(), conditions));
    },
    count: () =>
      withTimeLimit({ file, name: 'of what there is', timeLimitMs, deadline }, async () => {
        const { publication, count } = await prepared();
        return { publication, counts: await count() };
      }),
    close: () => file.close(),
  };
}

interface Answer {
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  /** How many rows there are without the limit. */
  readonly found: number;
}

/** Runs a report once for each partner, so that no sum, share or rank crosses partners. */
async function answerEachPartner(
  file: PublishedFile,
  request: {
    readonly report: ReportDefinition;
    readonly values: BoundParameters;
    readonly session: Prepared;
  },
): Promise<Answer> {
  const { report, values, session } = request;
  const isAlone = session.partners.length === 1;
  const answers: Answer[] = [];
  try {
    const sql = await setParameterVariables(file, report, values);
    for (const partner of session.partners) {
      if (!isAlone) await selectPartner(file, partner ?? '');
      await createSharedViews(file, report.sql);
      const reader = await file.query(sql);
      const all = readColumns(reader, report);
      const columns = shownColumns(all, report, values);
      const rows = readRows(reader, all, {
        shown: columns,
        also: { partner_id: partner === '' ? null : partner },
      });
      answers.push({
        columns: [...columns, partnerColumn(isAlone)],
        rows,
        found:
          values.shown.limit === String(rows.length) ? await countRows(file, report, values) : rows.length,
      });
    }
  } finally {
    if (!isAlone) await selectPartners(file, session);
  }
  return {
    columns: answers[0]?.columns ?? [],
    rows: answers.flatMap(({ rows }) => rows),
    found: answers.reduce((sum, { found }) => sum + found, 0),
  };
}

/** The number of rows for the selected partner without the limit. */
async function countRows(
  file: PublishedFile,
  report: ReportDefinition,
  { bound, shown }: BoundParameters,
): Promise<number> {
  const sql = await setParameterVariables(file, report, { shown, bound: { ...bound, limit: MAX_LIMIT } });
  const reader = await file.query(`select count(*) from (\n${sql}\n)`);
  return Number(reader.getRows()[0]?.[0]);
}

/** The largest value of an integer parameter. */
const MAX_LIMIT = 999_999_999;

/** The last column; a detail when there is only one partner. */
function partnerColumn(isAlone: boolean): ReportColumn {
  return { name: 'partner_id', type: 'text', scale: 0, unit: null, align: 'left', isDetail: isAlone };
}

/** Separates the partners in a chart: as series of lines, as rows of a heat map, else as part of the key. */
function byPartner(chart: ChartSpec): ChartSpec {
  const role = chart.kind === 'line' ? 'series' : chart.kind === 'heatmap' ? 'y' : 'key';
  const named = chart.roles[role];
  const both = named === undefined ? 'partner_id' : `partner_id+${named}`;
  return { ...chart, roles: { ...chart.roles, [role]: both } };
}

async function invoicesLeftOut(file: PublishedFile): Promise<number> {
  const [row] = (await file.run('invoices-left-out')).convertRowObjects(jsonValue);
  return Number(row?.invoices ?? 0);
}

export interface ReportRequest extends SessionRequest {
  readonly name: string;
  /** Values of the report's own parameters, as typed. */
  readonly parameters?: Readonly<Record<string, string>>;
}

/** @throws ReportError */
export async function runReport({ name, parameters, ...request }: ReportRequest): Promise<ReportResult> {
  const session = await openReportSession(request);
  try {
    return await session.run(name, parameters);
  } finally {
    session.close();
  }
}

/** Removes the columns of groups that `by` does not name. */
export function shownColumns(
  columns: readonly ReportColumn[],
  { shownBy }: Pick<ReportDefinition, 'shownBy'>,
  { shown }: Pick<BoundParameters, 'shown'>,
): readonly ReportColumn[] {
  const words = shown.by?.split('+') ?? [];
  return columns.filter(({ name }) => shownBy[name] === undefined || words.includes(shownBy[name]));
}

/** For reports with `by`, the first chart whose columns are shown, with one value in each place. */
export function drawableCharts(
  { charts, shownBy }: Pick<ReportDefinition, 'charts' | 'shownBy'>,
  columns: readonly ReportColumn[],
): readonly ChartSpec[] {
  if (Object.keys(shownBy).length === 0) return charts;
  const names = new Set(columns.map(({ name }) => name));
  const places = ({ roles: { combine: _, ...places } }: ChartSpec): readonly string[] =>
    Object.values(places).flatMap((role) => role.split('+'));
  const chosen = Object.keys(shownBy).filter((name) => names.has(name));
  return charts
    .filter((chart) => places(chart).every((name) => names.has(name)))
    .filter(
      (chart) => chart.roles.combine !== undefined || chosen.every((name) => places(chart).includes(name)),
    )
    .slice(0, 1);
}
