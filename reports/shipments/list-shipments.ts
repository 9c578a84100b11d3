/** Lists shipments page by page or as a stream, with exact totals, as a report result that every format renders. */

import { type DuckDBResultReader, type DuckDBValue, listValue } from '@duckdb/node-api';
import { statementIn } from '../../lib/sql-file.ts';
import type { ReportColumn, ReportRow } from '../cells.ts';
import { notCountedNotes } from '../completeness.ts';
import { invalidFilter } from '../errors.ts';
import { matchNotes } from '../match-filters.ts';
import { createSharedViews, type Prepared } from '../prepare-session.ts';
import type { PublishedFile } from '../published-file.ts';
import type { AppliedFilters } from '../report-filters.ts';
import {
  headNotes,
  type LevelCount,
  levelsOf,
  limitNotes,
  provedPercent,
  weighedIn,
} from '../report-head.ts';
import type { Completeness } from '../report-result.ts';
import {
  type ReportResult,
  readBatches,
  readColumns,
  readRows,
  type StreamedResult,
} from '../report-result.ts';
import {
  checkColumns,
  checkSort,
  DEFAULT_COLUMNS,
  DEFAULT_SORT,
  SHIPMENT_COLUMNS,
  type ShipmentSort,
} from './columns.ts';
import { type BoundConditions, bindConditions, type ShipmentConditions } from './conditions.ts';

export interface ShipmentsRequest {
  readonly conditions: ShipmentConditions;
  /** Names of columns; none means all. */
  readonly columns?: readonly string[];
  /** A column, with `-` before it for the largest first; the latest ship date first by default. */
  readonly sort?: string | undefined;
  /** `next` of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
  /** Known totals of the same filters and conditions. */
  readonly totals?: ShipmentTotals;
}

export interface ShipmentsPage {
  readonly result: ReportResult;
  readonly totals: ShipmentTotals;
  /** For `after` of the following page; null on the last. */
  readonly next: string | null;
}

/** @throws ReportError a condition, a column, a sort or an `after` is invalid */
export function checkShipmentsRequest(request: Omit<ShipmentsRequest, 'totals'>): void {
  const sort = checkSort(request.sort ?? DEFAULT_SORT);
  bindConditions(request.conditions);
  checkColumns(request.columns ?? []);
  keyOf(request.after, sort);
}

/** @throws ReportError a condition, a column, a sort or an `after` is invalid */
export async function listShipments(
  file: PublishedFile,
  { prepared, filters }: { readonly prepared: Prepared; readonly filters: AppliedFilters },
  request: ShipmentsRequest,
): Promise<ShipmentsPage> {
  const bound = bindConditions(request.conditions);
  const sort = checkSort(request.sort ?? DEFAULT_SORT);
  const shown = checkColumns(request.columns ?? []);
  const key = keyOf(request.after, sort);
  const known = request.totals?.publication === prepared.publication ? request.totals : null;
  const totals = known ?? (await totalShipments(file, prepared, request.conditions));
  await createSharedViews(file, bound.sql);
  const found = await query(file, 'keys', {
    filled: {
      ...{ conditions: bound.sql, sorted_by: sort.column },
      direction: sort.isDescending ? 'desc' : 'asc',
      behind: behindSql(key, sort),
    },
    // One more row shows whether there is another page.
    values: { ...bound.values, ...key, limit: request.limit + 1 },
  });
  const keys = readRows(found, readColumns(found, { units: {}, details: [] }));
  const onPage = keys.slice(0, request.limit);
  const last = keys.length > request.limit ? onPage.at(-1) : undefined;
  const { columns: all, rows } = await rowsOnPage(file, onPage);
  const columns = all.filter(({ name }) => shown.some((each) => each === name));
  return {
    totals,
    next: last === undefined ? null : keyText(last, sort),
    result: {
      ...WORDS,
      ...{ order: orderOf(sort), example: null, charts: [], columns, summed: ['billing_cost'] },
      rows: rows.map((row) => Object.fromEntries(columns.map(({ name }) => [name, row[name] ?? null]))),
      head: headOf({
        prepared,
        filters,
        bound,
        totals,
        rows: onPage.length,
        found: countOf(totals),
        notes: [],
        completeness: await prepared.completeness(),
      }),
    },
  };
}

export interface ShipmentsStream extends Pick<ShipmentsPage, 'totals'> {
  readonly result: StreamedResult;
}

/**
 * @returns rows that must be read before the session runs anything else
 * @throws ReportError as `listShipments`
 */
export async function streamShipments(
  file: PublishedFile,
  { prepared, filters }: { readonly prepared: Prepared; readonly filters: AppliedFilters },
  request: Omit<ShipmentsRequest, 'limit' | 'totals'> & { readonly limit: number | null },
): Promise<ShipmentsStream> {
  const bound = bindConditions(request.conditions);
  const sort = checkSort(request.sort ?? DEFAULT_SORT);
  const shown = checkColumns(request.columns ?? []);
  const key = keyOf(request.after, sort);
  const totals = await totalShipments(file, prepared, request.conditions);
  await createSharedViews(file, bound.sql);
  const filled = {
    ...{ conditions: bound.sql, sorted_by: sort.column },
    direction: sort.isDescending ? 'desc' : 'asc',
    behind: behindSql(key, sort),
  };
  const counting = { filled, values: { ...bound.values, ...key } };
  const all =
    request.after === undefined
      ? countOf(totals)
      : Number((await query(file, 'listed-count', counting)).getRows()[0]?.[0]);
  const columnList = shown.map((name) => `s.${name}`).join(', ');
  const text = filledText('listed', { ...filled, columns: columnList });
  // The session runs nothing else while rows are read.
  const completeness = await prepared.completeness();
  const found = await file.stream(text, { ...bound.values, ...key, limit: request.limit });
  const columns = readColumns(found, SHIPMENT_COLUMN_INFO);
  const rows = request.limit === null ? all : Math.min(request.limit, all);
  return {
    totals,
    result: {
      ...WORDS,
      ...{ order: orderOf(sort), example: null, charts: [], columns, summed: ['billing_cost'] },
      batches: readBatches(found, columns),
      head: headOf({
        prepared,
        filters,
        bound,
        totals,
        rows,
        found: all,
        completeness,
        notes: limitNotes({ rows, found: all }),
      }),
    },
  };
}

function countOf({ rows }: ShipmentTotals): number {
  return rows.reduce((sum, { shipments }) => sum + Number(shipments), 0);
}

function orderOf({ column, isDescending }: ShipmentSort): string {
  return `${column}${isDescending ? ', the largest first' : ''}; invoice_id; row_number`;
}

const WORDS = {
  name: 'shipments',
  title: 'Shipments',
  grain: 'line of a finalized invoice that is not voided',
  means:
    'billing_cost is what the invoice bills for the line, exactly as in its file; a credit is below zero. zone is the carrier’s zone brought to one spelling. invoice_id and row_number name the line in its file, which file_sha256 names.',
  cannotSay: 'surcharges, dimensional weight, destination and margin: they are not in an invoice file.',
};

function headOf(of: {
  readonly prepared: Prepared;
  readonly filters: AppliedFilters;
  readonly bound: BoundConditions;
  readonly totals: ShipmentTotals;
  readonly rows: number;
  readonly completeness: Completeness;
  readonly found: number;
  readonly notes: readonly string[];
}): ReportResult['head'] {
  const { prepared, filters, totals, completeness } = of;
  const { level, asOf, publication, matches, partners } = prepared;
  const counts = totals.counts.filter((count) => levelsOf(level).includes(count.level));
  return {
    ...{ filters, matches, level, asOf, publication, rows: of.rows, found: of.found },
    parameters: of.bound.shown,
    timeZone: 'UTC',
    shipments: counts.reduce((sum, count) => sum + count.shipments, 0),
    weighed: weighedIn(counts),
    provedPercent: provedPercent(counts),
    completeness,
    files: [],
    notes: [
      ...of.notes,
      ...notCountedNotes(completeness),
      ...matchNotes(matches),
      ...(partners.length > 1
        ? [`${partners.length} partners, told apart by partner_id; nothing is added across them.`]
        : []),
      ...headNotes({
        ...{ counts: totals.counts, level, filters, chosen: filters.level !== null },
        ...{ comparesLevels: false, readsStates: false, invoicesLeftOut: 0 },
      }),
    ],
  };
}

/** Holds for the rows behind the one that `key` names; rows without a value come last. */
function behindSql(
  key: Readonly<Record<string, DuckDBValue>>,
  { column, type, isDescending }: ShipmentSort,
): string {
  if (key.after_invoice === undefined) return 'true';
  const [invoice, row] = ['try_cast($after_invoice as uuid)', 'try_cast($after_row as bigint)'];
  const isLater = `(s.invoice_id > ${invoice} or (s.invoice_id = ${invoice} and s.row_number > ${row}))`;
  if (key.after_value === undefined) return `s.${column} is null and ${isLater}`;
  const value = `try_cast($after_value as ${type})`;
  const beyond = `s.${column} ${isDescending ? '<' : '>'} ${value}`;
  return `(${beyond} or s.${column} is null or (s.${column} = ${value} and ${isLater}))`;
}

/** The end of a page, in URL-safe characters. */
function keyText(row: ReportRow, sort: ShipmentSort): string {
  const key = [nameOf(sort), row.sorted_by, row.invoice_id, row.row_number];
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

/** @throws ReportError it is invalid, or of another sort */
function keyOf(after: string | undefined, sort: ShipmentSort): Readonly<Record<string, DuckDBValue>> {
  if (after === undefined) return {};
  const key = parsed(after);
  if (key[0] !== nameOf(sort) || typeof key[2] !== 'string' || typeof key[3] !== 'number') {
    throw invalidFilter('The page belongs to another list: begin with the first.');
  }
  const value = key[1] === null ? {} : { after_value: String(key[1]) };
  return { ...value, after_invoice: key[2], after_row: key[3] };
}

function parsed(text: string): readonly unknown[] {
  try {
    const key: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(key) ? key : [];
  } catch {
    return [];
  }
}

function nameOf({ column, isDescending }: ShipmentSort): string {
  return `${isDescending ? '-' : ''}${column}`;
}

export interface ShipmentTotals {
  readonly publication: number;
  readonly columns: readonly ReportColumn[];
  /** One for each currency, and for each partner where there are several. Decimals are exact text. */
  readonly rows: readonly ReportRow[];
  readonly counts: readonly LevelCount[];
}

/** @throws ReportError a condition is invalid */
export async function totalShipments(
  file: PublishedFile,
  prepared: Prepared,
  conditions: ShipmentConditions,
): Promise<ShipmentTotals> {
  const { publication, all } = prepared;
  const { sql, values } = bindConditions(conditions);
  await createSharedViews(file, sql);
  const filled = {
    matched: filledText('matched', { conditions: sql }),
    repeats: filledText('repeats', { conditions: sql }),
  };
  const reader = await query(file, 'totals', { filled, values });
  const answered = readColumns(reader, { units: TOTAL_UNITS, details: [] });
  const columns = answered.slice(
    0,
    answered.findIndex(({ name }) => name === 'level'),
  );
  const known = readRows(reader, answered);
  const found = known.filter(({ level }) => level !== null);
  const rows = readRows(reader, answered, { shown: columns }).filter(
    (_, index) => known[index]?.level === null,
  );
  const counts = all.map(({ level, allShipments, allInvoices }): LevelCount => {
    const row = found.find((each) => each.level === level);
    const of = (name: string): number => Number(row?.[name] ?? 0);
    return {
      ...{ level, allShipments, allInvoices },
      ...{ shipments: of('shipments'), invoices: of('invoices'), proved: of('proved') },
      ...{ inPounds: of('in_pounds'), inKilograms: of('in_kilograms') },
      contradictedInvoices: of('contradicted_invoices'),
    };
  });
  return { publication, columns, rows, counts };
}

const TOTAL_UNITS = {
  ...{ billing_cost: 'money', cost_per_shipment: 'money', credits: 'money' },
  ...{ billable_weight_lb: 'lb', cost_per_lb: 'money/lb' },
};

const ALL_COLUMNS = SHIPMENT_COLUMNS.map((name) => `s.${name}`).join(', ');
const DETAILS = SHIPMENT_COLUMNS.filter((name) => !DEFAULT_COLUMNS.includes(name));
export const SHIPMENT_COLUMN_INFO = { units: { billing_cost: 'money' }, details: DETAILS };

/** Up to this many rows are faster to find one by one than by reading all. */
const MAX_NAMED = 1_000;

/** The rows that `keys` name, in their order. */
export async function rowsOnPage(
  file: PublishedFile,
  keys: readonly ReportRow[],
): Promise<{ readonly columns: readonly ReportColumn[]; readonly rows: readonly ReportRow[] }> {
  const [onPage, values] = keys.length > MAX_NAMED ? inOneReading(keys) : oneByOne(keys);
  const reader = await query(file, 'rows', { filled: { columns: ALL_COLUMNS, on_page: onPage }, values });
  const columns = readColumns(reader, SHIPMENT_COLUMN_INFO);
  const found = new Map(readRows(reader, columns).map((row) => [placeOf(row), row]));
  const rows = keys.map((key) => found.get(placeOf(key))).filter((row) => row !== undefined);
  return { columns, rows };
}

type Named = readonly [sql: string, values: Readonly<Record<string, DuckDBValue>>];

function oneByOne(keys: readonly ReportRow[]): Named {
  const values: Record<string, DuckDBValue> = {};
  const among = (name: 'invoice_id' | 'row_number', type: string): string => {
    const distinct = [...new Set(keys.map((row) => String(row[name])))];
    for (const [index, value] of distinct.entries()) values[`${name}_${index}`] = value;
    const list = distinct.map((_, index) => `cast($${name}_${index} as ${type})`).join(', ');
    return `s.${name} in (${list === '' ? 'null' : list})`;
  };
  return [`${among('invoice_id', 'uuid')} and ${among('row_number', 'bigint')}`, values];
}

function inOneReading(keys: readonly ReportRow[]): Named {
  const named = 'select unnest(cast($invoices as uuid[])), unnest(cast($numbers as bigint[]))';
  const list = (name: string): DuckDBValue => listValue(keys.map((row) => String(row[name])));
  const values = { invoices: list('invoice_id'), numbers: list('row_number') };
  return [`(s.invoice_id, s.row_number) in (${named})`, values];
}

function placeOf(row: ReportRow): string {
  return `${row.invoice_id}/${row.row_number}`;
}

const STATEMENTS = new URL('./statements.sql', import.meta.url);

type Filled = Readonly<Record<string, string>>;

/** @param more.values bound by name */
export async function query(
  file: PublishedFile,
  name: string,
  more: {
    readonly filled?: Filled;
    readonly values?: Readonly<Record<string, DuckDBValue | readonly string[]>>;
  } = {},
): Promise<DuckDBResultReader> {
  const values = Object.entries(more.values ?? {}).map(
    ([key, value]) => [key, Array.isArray(value) ? listValue([...value]) : (value as DuckDBValue)] as const,
  );
  return file.query(filledText(name, more.filled ?? {}), Object.fromEntries(values));
}

/** The text of a statement with `{{names}}` replaced by our own expressions, never by user input. */
export function filledText(name: string, filled: Filled): string {
  return statementIn(STATEMENTS, name).replace(/\{\{(\w+)\}\}/g, (_, word: string) => filled[word] ?? '');
}
