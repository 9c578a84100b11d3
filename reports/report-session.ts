/** A published file opened once with one set of filters; any number of reports are asked of it, the head counted once. */

import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { bindParameters } from './bind-parameters.js';
import { findReport } from './catalogue.js';
import { ReportFilterError } from './errors.js';
import { interruptible } from './interruptible.js';
import { type OptionalTables, provideTables } from './optional-tables.js';
import { openPublishedFile, type PublishedFile } from './published-file.js';
import { readColumns, readRows } from './read-rows.js';
import {
  type AppliedFilters,
  checkFilters,
  letAllPass,
  type ReportFilters,
  type ReportLevel,
} from './report-filters.js';
import {
  chooseLevel,
  headNotes,
  type LevelCount,
  levelsOf,
  provedPercent,
  weighedIn,
} from './report-head.js';
import type { ReportResult } from './report-result.js';

/** What stands in a publication by level when nothing is filtered; many sessions of one publication can share it. */
export interface Counted {
  readonly publication: number;
  readonly counts: readonly LevelCount[];
}

export interface ReportSession {
  /**
   * @throws ReportNotFoundError, ReportFilterError: what was asked cannot be answered
   * @throws ReportInterruptedError: the time limit ran out
   */
  run(name: string, parameters?: Readonly<Record<string, string>>): Promise<ReportResult>;
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
  /** For the whole session; the statement that runs then is interrupted. 60 000 unless told. */
  readonly timeLimitMs?: number;
  /** What a session without filters counted; believed when this one has none either and reads the same publication. */
  readonly counted?: Counted | undefined;
}

const DEFAULT_TIME_LIMIT_MS = 60_000;

/** What several reports read and others do not, with the names by which their SQL shows that they do. */
const SHARED_BY_REPORTS = {
  'invoiced-months': /\binvoiced_months\b/,
  'invoices-owed': /\binvoices_owed\b/,
  'monthly-prices': /\b(monthly_prices|price_moves)\b/,
  'price-moves': /\bprice_moves\b/,
  'accrual-estimates': /\baccrual_estimates\b/,
} as const;

/**
 * @throws ReportFilterError: a filter has a value that cannot be meant
 * @throws NotPublishedError: there is no published file yet
 */
export async function openReportSession(request: SessionRequest): Promise<ReportSession> {
  const filters = checkFilters(request.filters ?? {});
  const timeLimitMs = request.timeLimitMs ?? DEFAULT_TIME_LIMIT_MS;
  if (!(timeLimitMs > 0)) throw new ReportFilterError('limit', 'The time limit must be longer than 0 s.');
  const file = await openPublishedFile(request.databasePath);
  const deadline = Date.now() + timeLimitMs;
  const counted = letAllPass(filters) && file.isWhole ? request.counted : undefined;
  let preparing: Promise<Prepared> | undefined;
  const prepared = (): Promise<Prepared> => {
    preparing ??= prepareSession(file, filters, counted);
    return preparing;
  };

  async function answer(name: string, parameters: Readonly<Record<string, string>>): Promise<ReportResult> {
    const { counts, asOf, publication, ...chosen } = await prepared();
    const report = await findReport(name);
    const comparesLevels = /\bfiltered_shipments\b/.test(report.sql);
    const level = comparesLevels ? 'all' : chosen.level;
    const values = bindParameters(report, parameters);
    await provideTables(file, report, request.tables ?? {});
    for (const [shared, isRead] of Object.entries(SHARED_BY_REPORTS)) {
      if (isRead.test(report.sql)) await file.apply(shared as keyof typeof SHARED_BY_REPORTS);
    }
    const reader = await file.query(report.sql, values.bound);
    const columns = readColumns(reader, report);
    const rows = readRows(reader, columns);
    const selected = counts.filter((count) => levelsOf(level).includes(count.level));
    const readsInvoices = /\b(selected_invoices|invoices_owed)\b/.test(report.sql);
    const { title, grain, means, cannotSay, example, charts } = report;
    return {
      ...{ name: report.name, title, grain, means, cannotSay, example, charts, columns, rows },
      head: {
        filters,
        parameters: values.shown,
        level,
        asOf,
        publication,
        timeZone: 'UTC',
        rows: rows.length,
        shipments: selected.reduce((sum, count) => sum + count.shipments, 0),
        weighed: weighedIn(selected),
        provedPercent: provedPercent(selected),
        notes: [
          ...(report.name === name
            ? []
            : [`${name} is now called ${report.name}; the old name works in this version only.`]),
          ...headNotes({
            isCut: values.shown.limit === String(rows.length),
            counts,
            level,
            chosen: filters.level !== null,
            comparesLevels,
            filters,
            readsInvoices,
            invoicesLeftOut: readsInvoices ? await invoicesLeftOut(file) : 0,
          }),
        ],
      },
    };
  }

  return {
    async run(name, parameters = {}) {
      // Refusals come before any work, so that a misspelt name is not answered with a time-out.
      bindParameters(await findReport(name), parameters);
      return interruptible({ file, name, timeLimitMs, deadline }, () => answer(name, parameters));
    },
    count: () => interruptible({ file, name: 'of what there is', timeLimitMs, deadline }, prepared),
    close: () => file.close(),
  };
}

interface Prepared {
  readonly level: ReportLevel;
  readonly counts: readonly LevelCount[];
  readonly asOf: string;
  readonly publication: number;
}

/** Filters become session variables, which the views of `session/` read. */
async function prepareSession(
  file: PublishedFile,
  filters: AppliedFilters,
  counted: Counted | undefined,
): Promise<Prepared> {
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
  const row = (await file.apply('publication')).getRowObjectsJson()[0] ?? {};
  const publication = Number(row.sequence ?? 0);
  const counts =
    counted?.publication === publication
      ? counted.counts
      : (await file.apply('head')).getRowObjectsJson().map(levelCount);
  const level = filters.level ?? chooseLevel(counts);
  await setVariable(file, 'levels', levelsOf(level));
  await file.apply('selected-shipments');
  await file.apply('prices');
  await file.apply('cell-prices');
  await file.apply('invoiced');
  await file.apply('filtered-invoices');
  await file.apply('selected-invoices');
  await file.apply('voided-shipments');
  return {
    level,
    counts,
    asOf: instant(row.published_at),
    publication,
  };
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

async function invoicesLeftOut(file: PublishedFile): Promise<number> {
  const [row] = (await file.apply('invoices-left-out')).getRowObjectsJson();
  return Number(row?.invoices ?? 0);
}

function levelCount(row: Record<string, unknown>): LevelCount {
  return {
    level: String(row.level),
    allShipments: Number(row.all_shipments),
    allInvoices: Number(row.all_invoices),
    shipments: Number(row.shipments),
    invoices: Number(row.invoices),
    inPounds: Number(row.in_pounds),
    inKilograms: Number(row.in_kilograms),
    proved: Number(row.proved),
    contradictedInvoices: Number(row.contradicted_invoices),
  };
}

function instant(value: unknown): string {
  return typeof value === 'string' ? value.replace(' ', 'T').replace(/(\+00(:00)?)?$/, 'Z') : 'unknown';
}
