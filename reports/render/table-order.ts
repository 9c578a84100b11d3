import { didYouMean } from '../../lib/config/did-you-mean.ts';
import { compareDecimals, fromTenThousandths, toTenThousandths } from '../../lib/decimal.ts';
import type { ReportDefinition } from '../catalogue.ts';
import type { ReportCell, ReportColumn, ReportRow } from '../cells.ts';
import { invalidFilter } from '../errors.ts';
import type { ReportResult } from '../report-result.ts';

/** @param sort a column, with `-` for largest first; nulls are last @throws ReportError no such column */
export function sortedBy(result: ReportResult, sort: string): ReportResult {
  const name = sort.replace(/^-/, '');
  const column = result.columns.find((each) => each.name === name);
  if (column === undefined) {
    const names = result.columns.map((each) => each.name);
    const hint = didYouMean(name, names) || ` Use ${names.join(', ')}.`;
    throw invalidFilter(`There is no column "${name}" to sort by.${hint}`);
  }
  const sign = sort.startsWith('-') ? -1 : 1;
  const order = (one: ReportRow, other: ReportRow): number => {
    const [left, right] = [one[name] ?? null, other[name] ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * compared(left, right, column);
  };
  return { ...result, rows: [...result.rows].sort(order), order: `${sort}, as requested` };
}

/** The columns whose totals count no line twice, also when two periods are compared. */
export function summedColumns({ drilldowns: [drilldown] }: ReportDefinition): readonly string[] {
  const equal = ['shipments', 'billing_cost', 'credits'].filter((name) => drilldown?.exact[name] === name);
  return equal.includes('billing_cost')
    ? [...equal, 'billing_cost_before', 'shipments_before', 'difference']
    : [];
}

/** Sums for each currency and partner with several rows; columns that cannot be summed are null. */
export function sumsOf(
  result: Pick<ReportResult, 'columns' | 'rows' | 'summed' | 'whole'>,
): readonly ReportRow[] {
  if (result.whole !== undefined && result.whole.length > 0)
    return (result.summed ?? []).length === 0 ? [] : result.whole;
  const sums = addUp(result);
  for (const row of result.rows) sums.add(row);
  return sums.rows();
}

export function addUp({ columns, summed = [] }: Pick<ReportResult, 'columns' | 'summed'>) {
  const hasCurrency = columns.some(({ name }) => name === 'currency_code');
  const added = hasCurrency ? columns.filter(({ name }) => summed.includes(name)) : [];
  interface Group {
    readonly of: Pick<ReportRow, 'currency_code' | 'partner_id'>;
    count: number;
    /** The sum of each column; null when no row has a value, so that the sum is not known. */
    readonly sums: (bigint | null)[];
  }
  const groups = new Map<string, Group>();
  return {
    add(row: ReportRow): void {
      if (added.length === 0) return;
      const of = { currency_code: row.currency_code ?? null, partner_id: row.partner_id ?? null };
      const key = JSON.stringify(of);
      const group = groups.get(key) ?? { of, count: 0, sums: added.map(() => null) };
      groups.set(key, group);
      group.count += 1;
      for (const [at, { name, type }] of added.entries()) {
        const cell = row[name] ?? null;
        if (cell === null) continue;
        group.sums[at] =
          (group.sums[at] ?? 0n) + (type === 'count' ? BigInt(cell) : toTenThousandths(String(cell)));
      }
    },
    rows(): readonly ReportRow[] {
      return [...groups.values()]
        .filter(({ count }) => count > 1)
        .map(({ of, sums }) => ({
          ...Object.fromEntries(
            added.map(({ name, type }, at) => {
              const sum = sums[at] ?? null;
              return [name, sum === null ? null : type === 'count' ? Number(sum) : fromTenThousandths(sum)];
            }),
          ),
          ...of,
        }));
    },
  };
}

function compared(left: ReportCell, right: ReportCell, { type }: ReportColumn): number {
  if (type === 'count') return Number(left) - Number(right);
  if (type === 'decimal') return compareDecimals(String(left), String(right));
  if (type === 'date' && String(left).length !== String(right).length)
    return String(left).length - String(right).length;
  return String(left) < String(right) ? -1 : Number(String(left) > String(right));
}

/** For these reports, the answer is the sum of this column; for others it is their number of rows. */
export const ANSWERS: Readonly<Record<string, readonly [column: string, meaning: string]>> = {
  duplicates: ['money_at_risk', 'at risk in charges that were billed more than once'],
  outliers: ['difference', 'above the usual cost of like shipments'],
  'rate-variance': ['variance', 'above the agreed rates'],
  rebills: ['difference', 'more on the replacements than on the voided invoices'],
  'dimensional-weight': ['difference', 'above the cost of the usual weight'],
  'late-billed': ['billing_cost', 'billed late'],
  adjustments: ['adjusted', 'charged after the first charge'],
  accrual: ['estimated_unbilled', 'estimated to be still unbilled'],
  payables: ['open_amount', 'open'],
  register: ['open_amount', 'open'],
  restatement: ['difference', 'changed since the earlier instant'],
  margin: ['margin', 'of margin'],
  waiting: ['stated_total', 'in invoices that are not loaded'],
};
export function answerColumn(report: string): readonly string[] {
  return ANSWERS[report]?.slice(0, 1) ?? [];
}
