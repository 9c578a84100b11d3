/** The rows of a table in the order a reader asks for, and what they sum to. */

import { fromTenThousandths, toTenThousandths } from '../../contract/decimal.ts';
import type { ReportDefinition } from '../catalogue.ts';
import { ReportFilterError } from '../errors.ts';
import { groupBy } from '../group-by.ts';
import { nearestNames } from '../nearest-names.ts';
import type { ReportCell, ReportColumn, ReportResult, ReportRow } from '../report-result.ts';

/**
 * @param sort a column, with `-` before it for the largest first; rows that have none there come last
 * @throws ReportFilterError the result has no such column
 */
export function sortedBy(result: ReportResult, sort: string): ReportResult {
  const name = sort.replace(/^-/, '');
  const column = result.columns.find((each) => each.name === name);
  if (column === undefined) {
    const names = result.columns.map((each) => each.name);
    const near = nearestNames(name, names);
    const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : `take ${names.join(', ')}.`;
    throw new ReportFilterError('sort', `There is no column "${name}" to sort by: ${hint}`);
  }
  const sign = sort.startsWith('-') ? -1 : 1;
  const order = (one: ReportRow, other: ReportRow): number => {
    const [left, right] = [one[name] ?? null, other[name] ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return sign * compared(left, right, column);
  };
  return { ...result, rows: [...result.rows].sort(order), order: `${sort}, as it was asked for` };
}

/** What rows that count no line twice add up to; of two periods as well. */
export function summedColumns({ leads: [lead] }: ReportDefinition): readonly string[] {
  const equal = ['shipments', 'billing_cost', 'credits'].filter((name) => lead?.exact[name] === name);
  return equal.includes('billing_cost')
    ? [...equal, 'billing_cost_before', 'shipments_before', 'difference']
    : [];
}

/** One row for each currency and partner with several rows: exact sums of the columns that add up, all others null. */
export function sumsOf({
  columns,
  rows,
  summed = [],
}: Pick<ReportResult, 'columns' | 'rows' | 'summed'>): readonly ReportRow[] {
  const added = columns.filter(({ name }) => summed.includes(name));
  if (added.length === 0 || !columns.some(({ name }) => name === 'currency_code')) return [];
  return groupBy(rows, (row) => JSON.stringify([row.currency_code, row.partner_id ?? null]))
    .filter(([, group]) => group.length > 1)
    .map(([, group]) => ({
      ...Object.fromEntries(added.map((column) => [column.name, sumOf(group, column)])),
      ...{ currency_code: group[0]?.currency_code ?? null, partner_id: group[0]?.partner_id ?? null },
    }));
}

function sumOf(rows: readonly ReportRow[], { name, type }: ReportColumn): ReportCell {
  if (type === 'count') return rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0);
  return fromTenThousandths(rows.reduce((sum, row) => sum + toTenThousandths(String(row[name] ?? '0')), 0n));
}

/** Decimals by all their digits. */
function compared(left: ReportCell, right: ReportCell, { type, scale }: ReportColumn): number {
  if (type === 'count') return Number(left) - Number(right);
  if (type !== 'decimal') return String(left) < String(right) ? -1 : Number(String(left) > String(right));
  const [one, other] = [left, right].map((cell) => wholeOf(String(cell), scale));
  return one === other ? 0 : (one ?? 0n) < (other ?? 0n) ? -1 : 1;
}

function wholeOf(text: string, scale: number): bigint {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(scale, '0')}`);
}
