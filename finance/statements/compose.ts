import { fromTenThousandths, toTenThousandths } from '../../lib/decimal.ts';
import type { ReportCell, ReportRow } from '../../reports/cells.ts';
import type { DateBasis } from '../../reports/report-filters.ts';
import {
  type Correction,
  cellOf,
  invoiceOf,
  isOf,
  keyOf,
  leftOut,
  markUpOf,
  orNull,
  type Statement,
  type StatementTenant,
  tenantOf,
  textOf,
  totalsOf,
} from './statement.ts';

export function composeStatement(billed: Billed, request: Composing): Statement {
  const { tenant, period, by, markUp } = request;
  const own = (rows: readonly ReportRow[]): readonly ReportRow[] => {
    const key = keyOf(tenant);
    return rows.filter((row) => keyOf(tenantOf(row)) === key);
  };
  const cells = own(billed.cells).map(cellOf);
  const invoices = own(billed.invoices);
  const notCounted = own(billed.notCounted);
  const corrections = correctionsOf(request, { invoices, notCounted });
  const ofPeriod = invoices.filter((row) => row.period === period);
  const counted = new Set(ofPeriod.map((row) => row.invoice_id));
  return {
    ...tenant,
    ...{ period, by, sent_at: null, publication: billed.publication, published_at: billed.publishedAt },
    ...{ totals: totalsOf(cells, corrections), billed: cells, corrections },
    invoices: ofPeriod.map(invoiceOf),
    left_out: notCounted
      .filter((row) => isIn(row, period) && !counted.has(row.invoice_id ?? null))
      .map(leftOut),
    mark_up: markUp === null ? null : markUp.filter((row) => isOf(tenant, row)).map(markUpOf),
    ...{ shipments: null, limits: LIMITS },
  };
}

/** An invoice without dates may be of any month. */
function isIn({ first_month: first, last_month: last }: ReportRow, period: string): boolean {
  return textOf(first) === '' || (textOf(first) <= period && period <= textOf(last));
}

const LIMITS: readonly string[] = [
  'It has no surcharges, dimensional weight and destinations: they are not in an invoice file.',
  'It does not show whether anything was paid.',
  'It does not explain why a line was credited or billed again. Lines count as billed again when an invoice of the same tenant that is void now, dated on or before theirs, has the tracking number.',
  'It lacks invoices that had not arrived when it was made, and months before the first statement that was sent. Changes in a month that was sent are corrected by the next statement.',
];

/** Rows of one publication; `invoices` and `notCounted` cover every month that may be corrected. */
export interface Billed {
  readonly publication: number;
  readonly publishedAt: string;
  readonly cells: readonly ReportRow[];
  readonly invoices: readonly ReportRow[];
  readonly notCounted: readonly ReportRow[];
}

export interface Composing {
  readonly tenant: StatementTenant;
  readonly period: string;
  readonly by: DateBasis;
  readonly sent: readonly Statement[];
  /** The months that were sent to the tenant, or to all tenants at once. */
  readonly stated: readonly string[];
  /** The first month that was stated or has to be corrected. */
  readonly since: string;
  readonly markUp: readonly ReportRow[] | null;
}

export function correctionsOf(
  { period, sent, stated, since }: Composing,
  { invoices, notCounted }: Pick<Billed, 'invoices' | 'notCounted'>,
): readonly Correction[] {
  const earlier = statedAmounts(sent);
  const found = new Map(invoices.map((row) => [keyOfAmount(row), row]));
  const due = invoices.filter(
    (row) =>
      textOf(row.period) !== period &&
      (stated.includes(textOf(row.period)) || isInMonths(row, since, period)),
  );
  const places = new Set([...earlier.keys(), ...due.map(keyOfAmount)]);
  return [...places]
    .flatMap((place): readonly Correction[] => {
      const before = earlier.get(place);
      const row = found.get(place);
      const isCountedAbove = before?.period === period;
      const is = isCountedAbove || row === undefined ? 0n : toTenThousandths(textOf(row.amount));
      const was = toTenThousandths(before?.amount ?? '0');
      if (is === was) return [];
      const named = before ?? namedBy(row);
      const gone = notCounted.find((each) => each.invoice_id === named.invoice_id);
      return [
        {
          ...{ period: named.period, invoice_id: named.invoice_id, invoice_number: named.invoice_number },
          currency_code: named.currency_code,
          ...{ previous: fromTenThousandths(was), current: fromTenThousandths(is) },
          difference: fromTenThousandths(is - was),
          reason: isCountedAbove
            ? 'is listed above now, and an earlier statement had added it as a correction'
            : reasonOf(row, { gone, wasStated: before !== undefined }),
        },
      ];
    })
    .sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
}

interface StatedAmount {
  readonly period: string;
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly currency_code: string;
  readonly amount: string;
}

function statedAmounts(sent: readonly Statement[]): ReadonlyMap<string, StatedAmount> {
  const all = new Map<string, StatedAmount>();
  const add = (earlier: StatedAmount): void => {
    const place = keyOfAmount({ ...earlier });
    const before = all.get(place)?.amount ?? '0';
    const amount = fromTenThousandths(toTenThousandths(before) + toTenThousandths(earlier.amount));
    all.set(place, { ...earlier, amount });
  };
  for (const { period, invoices, corrections } of sent) {
    for (const { invoice_id, invoice_number, currency_code, amount } of invoices)
      add({ period, invoice_id, invoice_number, currency_code, amount });
    for (const { difference, ...earlier } of corrections) add({ ...earlier, amount: difference });
  }
  return all;
}

function reasonOf(
  row: ReportRow | undefined,
  { gone, wasStated }: { readonly gone: ReportRow | undefined; readonly wasStated: boolean },
): string {
  const day = (cell: ReportCell | undefined): string => textOf(cell).slice(0, 10);
  if (row !== undefined && wasStated) return `another file counts since ${day(row.loaded_at)}`;
  if (row !== undefined) return `came late: loaded on ${day(row.loaded_at)}`;
  if ((gone?.voided_at ?? null) !== null) return `voided on ${day(gone?.voided_at)}`;
  return 'no longer billed to this tenant in that month';
}

function isInMonths(row: ReportRow, since: string, until: string): boolean {
  return textOf(row.period) >= since && textOf(row.period) < until;
}

function namedBy(row: ReportRow | undefined): StatedAmount {
  if (row === undefined) throw new Error('A correction needs what was earlier or what is billed.');
  return {
    ...{ period: textOf(row.period), invoice_id: textOf(row.invoice_id), amount: '0' },
    ...{ invoice_number: orNull(row.invoice_number), currency_code: textOf(row.currency_code) },
  };
}

function keyOfAmount(row: ReportRow): string {
  return JSON.stringify([row.period, row.invoice_id, row.currency_code]);
}

function sortKey({ period, invoice_number, invoice_id, currency_code }: Correction): string {
  return [period, invoice_number ?? '', invoice_id, currency_code].join('\0');
}
