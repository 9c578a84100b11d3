/** What a report answers, whatever it is then written as: one result feeds the terminal, the files and the pages. */

import {
  type DuckDBDecimalValue,
  type DuckDBResult,
  type DuckDBResultReader,
  type DuckDBTimestampTZValue,
  DuckDBTypeId,
  type DuckDBValueConverter,
} from '@duckdb/node-api';
import { instantText } from '../lib/duckdb-values.ts';
import type { ChartSpec, ReportDefinition, WorkedExample } from './catalogue.ts';
import type { Completeness } from './completeness.ts';
import type { FilterMatch } from './match-filters.ts';
import type { AppliedFilters, ReportLevel } from './report-filters.ts';

/** `decimal` cells are exact text; `count` cells are numbers; dates are `YYYY-MM-DD`, instants ISO 8601 UTC. */
export type ColumnType = 'text' | 'count' | 'decimal' | 'date' | 'instant' | 'flag';

export interface ReportColumn {
  readonly name: string;
  /** What a person reads above it; its name in words by default. */
  readonly label?: string;
  readonly type: ColumnType;
  /** Digits after the point of a `decimal`, else 0. */
  readonly scale: number;
  /** `money` is the row's `currency_code`; null when the column has no unit. */
  readonly unit: string | null;
  readonly align: 'left' | 'right';
  /** true: a terminal may leave it out when it does not fit; files always hold it. */
  readonly isDetail: boolean;
}

export type ReportCell = string | number | boolean | null;
export type ReportRow = Readonly<Record<string, ReportCell>>;

/** What has to be known to trust the rows. */
export interface ReportHead {
  readonly filters: AppliedFilters;
  /** What the words of the filters were found to mean. */
  readonly matches: readonly FilterMatch[];
  readonly parameters: Readonly<Record<string, string | null>>;
  readonly level: ReportLevel;
  /** When the published file was made, ISO 8601 UTC. */
  readonly asOf: string;
  readonly publication: number;
  readonly timeZone: 'UTC';
  readonly rows: number;
  /** How many rows there are without the limit that was asked for. */
  readonly found: number;
  /** Shipments that passed the filters. */
  readonly shipments: number;
  /** How many of them were weighed in which unit; kilograms are brought to pounds at 2.2046226218. */
  readonly weighed: { readonly inPounds: number; readonly inKilograms: number; readonly without: number };
  /** Percent of them whose file was proved by hash or header, two decimals; null when there are none. */
  readonly provedPercent: string | null;
  /** Applies to the days of the filters. */
  readonly completeness: Completeness;
  /** Those of `notes` that say how many rows of each file of one's own matched. */
  readonly files: readonly string[];
  /** Full sentences: what was left out, and what else to know before using the numbers. */
  readonly notes: readonly string[];
}

/** The same with rows that come in batches, for files of any size; they can be read once. */
export interface StreamedResult extends Omit<ReportResult, 'rows'> {
  readonly batches: AsyncIterable<readonly ReportRow[]>;
}

export interface ReportResult {
  readonly name: string;
  readonly title: string;
  readonly grain: string;
  readonly means: string;
  readonly order: string;
  readonly cannotSay: string;
  readonly example: WorkedExample | null;
  readonly charts: readonly ChartSpec[];
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  /** Columns whose rows add up within a currency and partner; missing: in none do they. */
  readonly summed?: readonly string[];
  readonly head: ReportHead;
}

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
