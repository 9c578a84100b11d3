/** The cells of the shipments on a page, which are known by invoice and row. */

import { type DuckDBValue, listValue } from '@duckdb/node-api';
import type { PublishedFile } from '../published-file.ts';
import { readColumns, readRows } from '../read-rows.ts';
import type { ReportColumn, ReportRow } from '../report-result.ts';
import { SHIPMENT_COLUMNS, USUAL_COLUMNS } from './columns.ts';
import { query } from './statement.ts';

const ALL_COLUMNS = SHIPMENT_COLUMNS.map((name) => `s.${name}`).join(', ');
const DETAILS = SHIPMENT_COLUMNS.filter((name) => !USUAL_COLUMNS.includes(name));
/** How the columns are read. */
export const SHIPMENT_READING = { units: { billing_cost: 'money' }, details: DETAILS };

/** Named one by one, rows are found without reading the others; more than so many are found as quickly in one reading. */
const MOST_NAMED = 1_000;

/** The rows that `keys` name, in their order. */
export async function rowsOnPage(
  file: PublishedFile,
  keys: readonly ReportRow[],
): Promise<{ readonly columns: readonly ReportColumn[]; readonly rows: readonly ReportRow[] }> {
  const [onPage, values] = keys.length > MOST_NAMED ? inOneReading(keys) : oneByOne(keys);
  const reader = await query(file, 'rows', { filled: { columns: ALL_COLUMNS, on_page: onPage }, values });
  const columns = readColumns(reader, SHIPMENT_READING);
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
