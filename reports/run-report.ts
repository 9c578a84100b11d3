/** Runs one report over the published file: filters bound, level chosen, time limited, head and notes added. */

import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { bindParameters } from './bind-parameters.js';
import { findReport, type ReportDefinition } from './catalogue.js';
import { ReportFilterError, ReportInterruptedError } from './errors.js';
import { type OptionalTables, provideTables } from './optional-tables.js';
import { openPublishedFile, type PublishedFile } from './published-file.js';
import { readColumns, readRows } from './read-rows.js';
import { type AppliedFilters, checkFilters, type ReportFilters } from './report-filters.js';
import { chooseLevel, headNotes, type LevelCount, levelsOf, provedPercent } from './report-head.js';
import type { ReportResult } from './report-result.js';

export interface ReportRequest {
  /** `reports.duckdb`. */
  readonly databasePath: string;
  readonly name: string;
  readonly filters?: ReportFilters;
  /** Values of the report's own parameters, as typed. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** CSV files with expected rates or sold prices, for the reports that join them. */
  readonly tables?: OptionalTables;
  /** After this the query is interrupted; 60 000 unless told. */
  readonly timeLimitMs?: number;
}

const DEFAULT_TIME_LIMIT_MS = 60_000;

/**
 * @throws ReportNotFoundError, ReportFilterError: what was asked cannot be answered
 * @throws NotPublishedError: there is no published file yet
 * @throws ReportInterruptedError: the time limit ran out
 */
export async function runReport(request: ReportRequest): Promise<ReportResult> {
  const report = await findReport(request.name);
  const filters = checkFilters(request.filters ?? {});
  const values = bindParameters(report, request.parameters ?? {});
  const file = await openPublishedFile(request.databasePath);
  try {
    await provideTables(file, report, request.tables ?? {});
    return await withTimeLimit(file, report.name, request.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS, () =>
      answer(file, report, filters, values),
    );
  } finally {
    file.close();
  }
}

async function answer(
  file: PublishedFile,
  report: ReportDefinition,
  filters: AppliedFilters,
  values: ReturnType<typeof bindParameters>,
): Promise<ReportResult> {
  await prepareSession(file, filters);
  const publication = (await file.apply('publication')).getRowObjectsJson()[0] ?? {};
  const counts = (await file.apply('head')).getRowObjectsJson().map(levelCount);
  const level = filters.level ?? chooseLevel(counts);
  await setVariable(file, 'levels', levelsOf(level));
  await file.apply('selected-shipments');
  await file.apply('selected-invoices');
  await file.apply('voided-shipments');

  const reader = await file.query(report.sql, values.bound);
  const columns = readColumns(reader, report);
  const rows = readRows(reader, columns);
  const selected = counts.filter((count) => levelsOf(level).includes(count.level));
  return {
    name: report.name,
    title: report.title,
    grain: report.grain,
    means: report.means,
    cannotSay: report.cannotSay,
    charts: report.charts,
    columns,
    rows,
    head: {
      filters,
      parameters: values.shown,
      level,
      asOf: instant(publication.published_at),
      publication: Number(publication.sequence ?? 0),
      timeZone: 'UTC',
      rows: rows.length,
      shipments: selected.reduce((sum, count) => sum + count.shipments, 0),
      provedPercent: provedPercent(selected),
      notes: headNotes({
        counts,
        level,
        chosen: filters.level !== null,
        filters,
        readsInvoices: report.sql.includes('selected_invoices'),
      }),
    },
  };
}

/** Filters become session variables, which `session/filtered-shipments.sql` reads. */
async function prepareSession(file: PublishedFile, filters: AppliedFilters): Promise<void> {
  await setVariable(file, 'date_basis', filters.by);
  await setVariable(file, 'date_from', filters.from);
  await setVariable(file, 'date_to', filters.to);
  await setVariable(file, 'tenants', filters.tenants);
  await setVariable(file, 'carriers', filters.carriers);
  await setVariable(file, 'zones', filters.zones);
  await setVariable(file, 'currencies', filters.currencies);
  await setVariable(file, 'as_known_on', filters.asKnownOn);
  await file.apply(filters.asKnownOn === null ? 'base-current' : 'base-as-known-on');
  await file.apply('filtered-shipments');
}

/** An empty list means "all", as null does. */
async function setVariable(
  file: PublishedFile,
  name: string,
  value: string | null | readonly string[],
): Promise<void> {
  let bound: DuckDBValue = null;
  if (typeof value === 'string') bound = value;
  else if (value !== null && value.length > 0) bound = listValue([...value]);
  await file.query(`set variable ${name} = $value`, { value: bound });
}

async function withTimeLimit<T>(
  file: PublishedFile,
  report: string,
  timeLimitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  if (!(timeLimitMs > 0)) throw new ReportFilterError('limit', 'The time limit must be longer than 0 s.');
  let ranOut = false;
  // interrupt() stops only the statement that runs at that moment, so it is repeated until the work has ended.
  const timer = setTimeout(() => {
    ranOut = true;
    file.connection.interrupt();
    again = setInterval(() => file.connection.interrupt(), 20);
  }, timeLimitMs);
  let again: NodeJS.Timeout | undefined;
  try {
    return await work();
  } catch (error) {
    if (ranOut) throw new ReportInterruptedError(report, timeLimitMs);
    throw error;
  } finally {
    clearTimeout(timer);
    clearInterval(again);
  }
}

function levelCount(row: Record<string, unknown>): LevelCount {
  return {
    level: String(row.level),
    allShipments: Number(row.all_shipments),
    shipments: Number(row.shipments),
    invoices: Number(row.invoices),
    weighed: Number(row.weighed),
    proved: Number(row.proved),
    contradictedInvoices: Number(row.contradicted_invoices),
  };
}

function instant(value: unknown): string {
  return typeof value === 'string' ? value.replace(' ', 'T').replace(/(\+00(:00)?)?$/, 'Z') : 'unknown';
}
