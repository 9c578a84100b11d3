/** `--compare` and `--pivot`: docs/report-rules.md, "Comparisons and pivots". */

import type { Filters } from '../history.ts';
import type { AnswerRow, Cells, Key } from './answer.ts';
import {
  absolute,
  compareText,
  dateOf,
  dayNumber,
  lastDayOf,
  money,
  monthNumber,
  monthOf,
  parsed,
  percent,
  sum,
} from './exact.ts';

export type Days = Required<Pick<Filters, 'from' | 'to'>>;

const dayAfter = (day: string, days = 1): string => dateOf(dayNumber(day) + days);

/** The same day of an earlier month, or its last day where it has fewer. */
function monthsBefore(day: string, months: number): string {
  const first = `${monthOf(monthNumber(day) - months)}-01`;
  const same = `${first.slice(0, 8)}${day.slice(8)}`;
  return same < lastDayOf(first) ? same : lastDayOf(first);
}

/** null: the filters have no first or last day. */
export function comparedDays(compare: string, { from, to }: Filters): Days | null {
  if (/^\d{4}-\d{2}$/.test(compare)) return { from: `${compare}-01`, to: lastDayOf(`${compare}-01`) };
  if (from === undefined || to === undefined) return null;
  const next = dayAfter(to);
  const isOfMonths = from.endsWith('-01') && next.endsWith('-01');
  if (compare === 'last-year')
    return { from: monthsBefore(from, 12), to: dayAfter(monthsBefore(next, 12), -1) };
  const before = isOfMonths
    ? monthsBefore(from, monthNumber(next) - monthNumber(from))
    : dayAfter(from, dayNumber(from) - dayNumber(next));
  return { from: before, to: dayAfter(from, -1) };
}

const amountIn = (cells: Cells | undefined): bigint => parsed(String(cells?.billing_cost ?? '0'));

/** @param keys the columns that name a row of both answers */
export function comparedRows(
  now: readonly AnswerRow[],
  before: readonly AnswerRow[],
  keys: readonly string[],
): AnswerRow[] {
  const keyOf = ({ cells }: AnswerRow): string => JSON.stringify(keys.map((name) => cells[name] ?? null));
  const [here, there] = [now, before].map((rows) => new Map(rows.map((row) => [keyOf(row), row.cells])));
  return [...new Set([...now, ...before].map(keyOf))].map((key) => {
    const [one, other] = [here?.get(key), there?.get(key)];
    const difference = amountIn(one) - amountIn(other);
    const named = Object.fromEntries(keys.map((name) => [name, (one ?? other)?.[name] ?? null]));
    return {
      cells: {
        ...named,
        ...{
          billing_cost: money(amountIn(one)),
          billing_cost_before: money(amountIn(other)),
          difference: money(difference),
        },
        ...{ change_percent: percent(difference, amountIn(other)), shipments: one?.shipments ?? 0 },
        ...{ shipments_before: other?.shipments ?? 0, cost_per_shipment: one?.cost_per_shipment ?? null },
        cost_per_shipment_before: other?.cost_per_shipment ?? null,
      },
      order: [String(named.currency_code), -absolute(difference)],
    };
  });
}

const TOTAL = 'total';

/** @param taken names of the columns of the answer @param values of all partners, since each is a column of all rows */
export function pivotedRows(
  rows: readonly AnswerRow[],
  {
    across,
    keys,
    taken,
    values,
  }: { across: string; keys: readonly string[]; taken: readonly string[]; values: readonly Cells[string][] },
): AnswerRow[] {
  const names = new Map<Cells[string], string>();
  const isTaken = (name: string): boolean =>
    name === TOTAL || taken.includes(name) || [...names.values()].includes(name);
  // What is missing is (none), whatever else has that name.
  for (const value of values.toSorted(
    (one, other) => Number(one !== null) - Number(other !== null) || compareText(String(one), String(other)),
  )) {
    const text = value === null ? '(none)' : String(value);
    let name = text;
    while (isTaken(name)) name = `[${name}]`;
    names.set(value, name);
  }
  return [
    ...Map.groupBy(rows, ({ cells }) => JSON.stringify(keys.map((name) => cells[name] ?? null))).values(),
  ].map((of) => {
    const total = sum(of.map(({ cells }) => amountIn(cells)));
    const [first] = of;
    return {
      cells: {
        ...Object.fromEntries(keys.map((name) => [name, first?.cells[name] ?? null])),
        ...Object.fromEntries(
          [...names].map(([value, name]) => [
            name,
            of.find(({ cells }) => (cells[across] ?? null) === value)?.cells.billing_cost ?? null,
          ]),
        ),
        [TOTAL]: money(total),
      },
      order: [String(first?.cells.currency_code ?? ''), -total] as Key,
    };
  });
}
