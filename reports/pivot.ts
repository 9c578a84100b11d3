import { fromTenThousandths, toTenThousandths } from '../lib/decimal.ts';
import type { ReportDefinition } from './catalogue.ts';
import { moneyColumn, type ReportCell, type ReportColumn, type ReportRow } from './cells.ts';
import { invalidFilter } from './errors.ts';
import type { ReportResult } from './report-result.ts';

export interface Pivoted {
  readonly result: ReportResult;
  /** Returns the row from which a cell was made; null for sums and empty cells. */
  readonly origin: (row: ReportRow, column: string) => ReportRow | null;
}

const VALUE = 'billing_cost';
const MAX_PIVOT_COLUMNS = 60;
/** Columns that are ordered by size, because their values are numbers, at least in part. */
const BY_SIZE: readonly string[] = ['zone', 'carrier_zone', 'weight_break'];

/** The groups of a report of costs, without ids; empty when the report's rows are lines. */
export function acrossOf(
  { drilldowns: [drilldown] }: Pick<ReportDefinition, 'drilldowns'>,
  { columns }: ReportResult,
): readonly string[] {
  if (drilldown === undefined || drilldown.exact[VALUE] !== VALUE) return [];
  const named = drilldown.by.map(({ column }) => column);
  if (named.includes('row_number')) return [];
  const keys = named.filter((name) => name !== 'currency_code' && !name.endsWith('_id'));
  const there = keys.filter((name) => columns.some((column) => column.name === name));
  return there.length > 1 ? there : [];
}

/** @throws ReportError no such column, only one, or too many values */
export function pivoted(report: ReportDefinition, result: ReportResult, across: string): Pivoted {
  const possible = acrossOf(report, result);
  if (!possible.includes(across)) {
    const hint =
      possible.length > 0
        ? `take ${possible.join(', ')}.`
        : 'it needs a report of costs by two columns or more, as cost with by=tenant+month.';
    throw invalidFilter(`${report.name} cannot be put side by side by "${across}": ${hint}`);
  }
  const names = [...possible.filter((name) => name !== across), 'currency_code', 'partner_id'];
  const keys = result.columns.filter(({ name }) => names.includes(name));
  const values = [...new Set(result.rows.map((row) => row[across] ?? null))].sort(
    BY_SIZE.includes(across) ? bySize : byText,
  );
  if (values.length > MAX_PIVOT_COLUMNS)
    throw invalidFilter(
      `There are ${values.length} values of ${across}, and a table has room for ${MAX_PIVOT_COLUMNS}: narrow it by filters, or put another column across.`,
    );
  const places = columnsOf(values, result);
  const groups = Map.groupBy(result.rows, (row) => JSON.stringify(keys.map(({ name }) => row[name] ?? null)));
  const origins = new Map<ReportRow, ReadonlyMap<string, ReportRow>>();
  const rows = Array.from(groups.values(), (group) => {
    const cells = new Map(group.map((row) => [places.get(row[across] ?? null)?.name ?? '', row]));
    const row = Object.fromEntries([
      ...keys.map(({ name }): [string, ReportCell] => [name, group[0]?.[name] ?? null]),
      ...[...places.values()].map(({ name }): [string, ReportCell] => [
        name,
        cells.get(name)?.[VALUE] ?? null,
      ]),
      [TOTAL, fromTenThousandths(group.reduce((sum, one) => sum + toTenThousandths(String(one[VALUE])), 0n))],
    ]);
    origins.set(row, cells);
    return row;
  });
  rows.sort(byTotal);
  return {
    origin: (row, column) => origins.get(row)?.get(column) ?? null,
    result: {
      ...result,
      means: `${result.means} Each value of ${across} has a column with ${VALUE}; ${TOTAL} is their sum.`,
      grain: keys
        .filter(({ name }) => name !== 'partner_id')
        .map(({ name }) => name.replace('_code', '').replaceAll('_', ' '))
        .join(', '),
      order: `currency; the greatest ${TOTAL} first`,
      charts: [],
      columns: [
        ...keys.filter(({ name }) => name !== 'partner_id'),
        ...places.values(),
        moneyColumn(TOTAL),
        ...keys.filter(({ name }) => name === 'partner_id'),
      ],
      rows,
      summed: [...[...places.values()].map(({ name }) => name), TOTAL],
      head: {
        ...result.head,
        ...{ rows: rows.length, found: rows.length },
        parameters: { ...result.head.parameters, pivot: across },
      },
    },
  };
}

const TOTAL = 'total';

/** Each value has a column of its own; what is missing is "(none)", whatever else has that name. */
function columnsOf(
  values: readonly ReportCell[],
  { columns }: ReportResult,
): ReadonlyMap<ReportCell, ReportColumn> {
  const isMissing = (value: ReportCell): boolean => value === null || value === '';
  const taken = new Set([TOTAL, ...columns.map(({ name }) => name)]);
  const named = new Map<ReportCell, ReportColumn>();
  for (const value of values.toSorted((one, other) => Number(isMissing(other)) - Number(isMissing(one)))) {
    const text = isMissing(value) ? '(none)' : String(value);
    let name = text;
    while (taken.has(name)) name = `[${name}]`;
    taken.add(name);
    named.set(value, moneyColumn(name, { label: text }));
  }
  return new Map(values.map((value) => [value, named.get(value) ?? moneyColumn(String(value))]));
}

function byTotal(one: ReportRow, other: ReportRow): number {
  const first = byPartnerAndCurrency(one, other);
  if (first !== 0) return first;
  const [left, right] = [one, other].map((row) => toTenThousandths(String(row[TOTAL])));
  return left === right ? 0 : (left ?? 0n) > (right ?? 0n) ? -1 : 1;
}

export function byText(one: ReportCell | undefined, other: ReportCell | undefined): number {
  const [left, right] = [one ?? null, other ?? null];
  if (left === null || right === null) return Number(left === null) - Number(right === null);
  return String(left) < String(right) ? -1 : Number(String(left) > String(right));
}

/** Orders leading numbers by size (`5`, `3 to 5 lb`, `over 150 lb`), then text; null is last. */
export function bySize(one: ReportCell | undefined, other: ReportCell | undefined): number {
  const [left, right] = [sizeOf(one), sizeOf(other)];
  if (left === right) return byText(one, other);
  return left < right ? -1 : 1;
}

export function byPartnerAndCurrency(one: ReportRow, other: ReportRow): number {
  return byText(one.partner_id, other.partner_id) || byText(one.currency_code, other.currency_code);
}

function sizeOf(cell: ReportCell | undefined): number {
  const number = /^(?:over )?(\d+(?:\.\d+)?)(?:$| lb$| to )/.exec(String(cell ?? ''))?.[1];
  return number === undefined ? Number.POSITIVE_INFINITY : Number(number);
}
