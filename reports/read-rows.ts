/** Turns what DuckDB answered into report rows without ever passing a decimal through a float (hazard 7). */

import {
  type DuckDBDecimalValue,
  type DuckDBResult,
  type DuckDBResultReader,
  type DuckDBTimestampTZValue,
  DuckDBTypeId,
  type DuckDBValueConverter,
} from '@duckdb/node-api';
import { instantText } from '../lib/duckdb-values.ts';
import type { ReportDefinition } from './catalogue.ts';
import type { ColumnType, ReportCell, ReportColumn, ReportRow } from './report-result.ts';

/** Name, type, unit and alignment of each column, in the order of the answer; `scale` is digits after the point. */
export function readColumns(
  reader: Pick<DuckDBResultReader, 'columnNames' | 'columnTypes'>,
  report: Pick<ReportDefinition, 'units' | 'details'>,
): ReportColumn[] {
  const names = reader.columnNames();
  return reader.columnTypes().map((duckType, index) => {
    const name = names[index] ?? '';
    const type = columnType(duckType.typeId, name);
    const scale = 'scale' in duckType && typeof duckType.scale === 'number' ? duckType.scale : 0;
    const align = type === 'count' || type === 'decimal' ? 'right' : 'left';
    return {
      name,
      type,
      scale: type === 'decimal' ? scale : 0,
      unit: report.units[name] ?? null,
      align,
      isDetail: report.details.includes(name),
    };
  });
}

/**
 * @param shown those of `columns`, all that were answered, that the rows have
 * @param also what every row has besides, behind them: copying tens of thousands of rows to add it would be dear
 */
export function readRows(
  reader: DuckDBResultReader,
  columns: readonly ReportColumn[],
  { shown = columns, also = {} }: { shown?: readonly ReportColumn[]; also?: ReportRow } = {},
): ReportRow[] {
  // Column by column, which for tens of thousands of rows takes half of what a cell at a time does.
  const values = reader.convertColumns(cellOf);
  const read = [...columns.entries()]
    .filter(([, column]) => shown.includes(column))
    .map(([index, { name }]) => ({ name, cells: values[index] ?? [] }));
  for (const [name, cell] of Object.entries(also))
    read.push({ name, cells: Array(reader.currentRowCount).fill(cell) });
  // Each row is a copy of one with all columns: one that grows cell by cell takes three times as long and eight times the memory.
  const empty: Readonly<Record<string, ReportCell>> = Object.fromEntries(
    read.map(({ name }) => [name, null]),
  );
  return Array.from({ length: reader.currentRowCount }, (_, place) => {
    const row = { ...empty };
    for (const { name, cells } of read) row[name] = cells[place] ?? null;
    return row;
  });
}

/** Rows of a result that is fetched piece by piece. */
export async function* readBatches(
  result: DuckDBResult,
  columns: readonly ReportColumn[],
): AsyncGenerator<readonly ReportRow[]> {
  const empty: Readonly<Record<string, ReportCell>> = Object.fromEntries(
    columns.map(({ name }) => [name, null]),
  );
  for await (const rows of result.yieldConvertedRows(cellOf)) {
    yield rows.map((cells) => {
      const row = { ...empty };
      for (let at = 0; at < columns.length; at += 1) row[columns[at]?.name ?? ''] = cells[at] ?? null;
      return row;
    });
  }
}

function columnType(typeId: DuckDBTypeId, name: string): ColumnType {
  switch (typeId) {
    case DuckDBTypeId.DECIMAL:
      return 'decimal';
    case DuckDBTypeId.TINYINT:
    case DuckDBTypeId.SMALLINT:
    case DuckDBTypeId.INTEGER:
    case DuckDBTypeId.BIGINT:
    case DuckDBTypeId.HUGEINT:
      return 'count';
    case DuckDBTypeId.DATE:
      return 'date';
    case DuckDBTypeId.TIMESTAMP_TZ:
    case DuckDBTypeId.TIMESTAMP:
      return 'instant';
    case DuckDBTypeId.BOOLEAN:
      return 'flag';
    case DuckDBTypeId.VARCHAR:
    case DuckDBTypeId.UUID:
    case DuckDBTypeId.SQLNULL:
      return 'text';
    default:
      throw new Error(`Column ${name} has the type ${DuckDBTypeId[typeId]}, which no report may answer.`);
  }
}

/** Decimals, dates, ids and instants become text, flags truth values. */
const cellOf: DuckDBValueConverter<ReportCell> = (value, { typeId }) => {
  if (value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  switch (typeId) {
    case DuckDBTypeId.DECIMAL:
      return decimalOf(value as DuckDBDecimalValue);
    case DuckDBTypeId.TIMESTAMP_TZ:
    case DuckDBTypeId.TIMESTAMP:
      return instantText(value as DuckDBTimestampTZValue);
    case DuckDBTypeId.DATE:
    case DuckDBTypeId.UUID:
      return String(value);
    default:
      return countOf(value);
  }
};

/** Its digits with a point among them: the value's own text divides numbers of any size, for each cell. */
function decimalOf({ value, scale }: DuckDBDecimalValue): string {
  if (scale === 0) return String(value);
  const digits = String(value < 0n ? -value : value).padStart(scale + 1, '0');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Counts are numbers up to 2^53; no count of shipments comes near that. */
function countOf(value: unknown): number {
  const count = Number(value);
  if (Number.isSafeInteger(count)) return count;
  throw new Error(`The count ${String(value)} is too large for a number.`);
}
