import { type DuckDBResultReader, type DuckDBValue, listValue } from '@duckdb/node-api';
import { statementIn } from '../../lib/sql-file.ts';
import type { ReportColumn, ReportRow } from '../cells.ts';
import { invalidFilter } from '../errors.ts';
import type { PublishedFile } from '../open-published-file.ts';
import { createSharedViews, type LevelCount, type Prepared, withCounts } from '../prepare-session.ts';
import { limitNotes, reportHead } from '../report-head.ts';
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
import { bindConditions, type ShipmentConditions } from './conditions.ts';

export interface ShipmentsRequest {
  readonly conditions: ShipmentConditions;
  readonly columns?: readonly string[];
  /** `-` before the column: largest first. The latest ship date first by default. */
  readonly sort?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly totals?: ShipmentTotals;
}

export type StreamRequest = Omit<ShipmentsRequest, 'limit' | 'totals'> & { readonly limit: number | null };

export interface ShipmentsPage {
  readonly result: ReportResult;
  readonly totals: ShipmentTotals;
  /** For `after` of the following page; null on the last. */
  readonly next: string | null;
}

export function checkShipmentsRequest(request: Omit<StreamRequest, 'limit'>) {
  const sort = checkSort(request.sort ?? DEFAULT_SORT);
  const bound = bindConditions(request.conditions);
  const columns = checkColumns(request.columns ?? []);
  const key = keyOf(request.after, sort);
  const filled = {
    ...{ conditions: bound.sql, sorted_by: sort.column, behind: behindSql(key, sort) },
    ...{
      direction: sort.isDescending ? 'desc' : 'asc',
      columns: columns.map((name) => `s.${name}`).join(', '),
    },
  };
  return { bound, sort, filled, values: { ...bound.values, ...key } };
}

export async function listShipments(
  file: PublishedFile,
  prepared: Prepared,
  request: ShipmentsRequest,
): Promise<ShipmentsPage> {
  const { bound, sort, filled, values } = checkShipmentsRequest(request);
  const known = request.totals?.publication === prepared.publication ? request.totals : null;
  const totals = known ?? (await totalShipments(file, prepared, request.conditions));
  await createSharedViews(file, bound.sql);
  // One more row shows whether there is another page.
  const limited = { ...values, limit: request.limit + 1 };
  const key = `cast(s.${sort.column} as varchar) as key_value, cast(s.invoice_id as varchar) as key_invoice, s.row_number as key_row`;
  const withKey = { ...filled, columns: `${filled.columns}, ${key}` };
  const reader = await query(file, 'listed', { filled: withKey, values: limited });
  const read = readColumns(reader, SHIPMENT_COLUMN_INFO);
  const columns = read.filter(({ name }) => !name.startsWith(KEY_PREFIX));
  const keys = readRows(reader, read, { kept: read.filter((column) => !columns.includes(column)) });
  const rows = readRows(reader, read, { kept: columns }).slice(0, request.limit);
  const last = keys.length > request.limit ? keys[request.limit - 1] : undefined;
  return {
    totals,
    next: last === undefined ? null : keyText(last, sort),
    result: {
      ...described(sort, columns),
      rows,
      head: reportHead({
        ...{ prepared, counts: totals.counts, parameters: bound.texts },
        ...{ rows: rows.length, found: countOf(totals), completeness: await prepared.completeness() },
      }),
    },
  };
}

const KEY_PREFIX = 'key_';

export interface ShipmentsStream extends Pick<ShipmentsPage, 'totals'> {
  readonly result: StreamedResult;
}

/** Rows must be read before the session runs anything else. @throws ReportError as `listShipments` */
export async function streamShipments(
  file: PublishedFile,
  prepared: Prepared,
  request: StreamRequest,
): Promise<ShipmentsStream> {
  const { bound, sort, filled, values } = checkShipmentsRequest(request);
  const totals = await totalShipments(file, prepared, request.conditions);
  await createSharedViews(file, bound.sql);
  const all =
    request.after === undefined
      ? countOf(totals)
      : Number((await query(file, 'listed-count', { filled, values })).getRows()[0]?.[0]);
  // The session runs nothing else while rows are read.
  const completeness = await prepared.completeness();
  const found = await file.stream(
    filledText('listed', filled),
    bindable({ ...values, limit: request.limit }),
  );
  const columns = readColumns(found, SHIPMENT_COLUMN_INFO);
  const rows = request.limit === null ? all : Math.min(request.limit, all);
  return {
    totals,
    result: {
      ...described(sort, columns),
      batches: readBatches(found, columns),
      head: reportHead({
        ...{ prepared, counts: totals.counts, parameters: bound.texts, rows, found: all, completeness },
        notes: limitNotes(rows, all),
      }),
    },
  };
}

function countOf({ rows }: ShipmentTotals): number {
  return rows.reduce((sum, { shipments }) => sum + Number(shipments), 0);
}

function described({ column, isDescending }: ShipmentSort, columns: readonly ReportColumn[]) {
  return {
    name: 'shipments',
    title: 'Shipments',
    grain: 'line of a finalized invoice that is not voided',
    means:
      '`billing_cost` is the amount billed for the line, exactly as in its file; a credit is below zero. `zone` is the carrier’s zone in one spelling. `row_number` is the line’s place in the file that `file_sha256` identifies.',
    limits: 'Surcharges, dimensional weight, destination and margin are not in an invoice file.',
    order: `${column}${isDescending ? ', the largest first' : ''}; invoice_id; row_number`,
    ...{ example: null, charts: [], columns, summed: ['billing_cost'] },
  };
}

/** Rows behind `key`; nulls are last. */
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

function keyText(row: ReportRow, sort: ShipmentSort): string {
  const key = [nameOf(sort), row.key_value, row.key_invoice, row.key_row];
  return Buffer.from(JSON.stringify(key)).toString('base64url');
}

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
  /** By currency and partner. Decimals are exact text. */
  readonly rows: readonly ReportRow[];
  readonly counts: readonly LevelCount[];
}

export async function totalShipments(
  file: PublishedFile,
  { publication, all }: Prepared,
  conditions: ShipmentConditions,
): Promise<ShipmentTotals> {
  const { sql, values } = bindConditions(conditions);
  await createSharedViews(file, sql);
  const reader = await query(file, 'totals', { filled: { conditions: sql }, values });
  const read = readColumns(reader, { units: TOTAL_UNITS });
  const columns = read.slice(
    0,
    read.findIndex(({ name }) => name === 'level'),
  );
  const rows = readRows(reader, read);
  return {
    ...{ publication, columns },
    rows: readRows(reader, read, { kept: columns }).filter((_, index) => rows[index]?.level === null),
    counts: withCounts(all, rows),
  };
}

const TOTAL_UNITS = { billable_weight_lb: 'lb', cost_per_lb: 'money/lb' };

const DETAILS = SHIPMENT_COLUMNS.filter((name) => !DEFAULT_COLUMNS.includes(name));
const SHIPMENT_COLUMN_INFO = { units: { billable_weight: '-' }, details: DETAILS };

const STATEMENTS = new URL('./list-shipments.sql', import.meta.url);

type Filled = Readonly<Record<string, string>>;
type Values = Readonly<Record<string, DuckDBValue | readonly string[]>>;

function query(
  file: PublishedFile,
  name: string,
  { filled = {}, values = {} }: { readonly filled?: Filled; readonly values?: Values },
): Promise<DuckDBResultReader> {
  return file.query(filledText(name, filled), bindable(values));
}

function bindable(values: Values): Readonly<Record<string, DuckDBValue>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      Array.isArray(value) ? listValue([...value]) : (value as DuckDBValue),
    ]),
  );
}

/** `{{names}}` are replaced by our own expressions, never by user input. */
function filledText(name: string, filled: Filled): string {
  return statementIn(STATEMENTS, name).replace(/\{\{(\w+)\}\}/g, (_, key: string) => filled[key] ?? '');
}
