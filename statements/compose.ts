/** Makes a tenant's statement of what is billed now and of what earlier statements said: nothing here is asked or kept. */

import { fromTenThousandths, toTenThousandths } from '../contract/decimal.js';
import type { ReportCell, ReportRow } from '../reports/report-result.js';
import {
  type BilledCell,
  type Correction,
  keyOf,
  type LeftOut,
  type LineKind,
  type MarkUp,
  type Statement,
  type StatementTenant,
  totalsOf,
} from './statement.js';

/** Rows of one publication. `invoices` and `notCounted` are of every month that may have to be corrected. */
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
  /** What was sent to this tenant before. */
  readonly sent: readonly Statement[];
  /** The month from which on each month was stated, or has to be made up for. */
  readonly since: string;
  readonly markUp: readonly ReportRow[] | null;
}

/** A draft without shipments. */
export function composeStatement(billed: Billed, asked: Composing): Statement {
  const { tenant, period, markUp } = asked;
  const own = (rows: readonly ReportRow[]): readonly ReportRow[] => {
    const key = keyOf(tenant);
    return rows.filter((row) => keyOf(tenantOf(row)) === key);
  };
  const cells = own(billed.cells).map(cellOf);
  const invoices = own(billed.invoices);
  const notCounted = own(billed.notCounted);
  const corrections = correctionsOf(asked, { invoices, notCounted });
  const ofPeriod = invoices.filter((row) => row.period === period);
  const counted = new Set(ofPeriod.map((row) => row.invoice_id));
  return {
    ...tenant,
    ...{ period, sent_at: null, publication: billed.publication, published_at: billed.publishedAt },
    ...{ totals: totalsOf(cells, corrections), billed: cells, corrections },
    invoices: ofPeriod.map((row) => ({
      ...{ invoice_id: text(row.invoice_id), invoice_number: orNull(row.invoice_number) },
      ...{ currency_code: text(row.currency_code), lines: Number(row.lines), amount: text(row.amount) },
      proved_by: provedBy(row),
      ...{ file_sha256: text(row.file_sha256), loaded_at: text(row.loaded_at) },
    })),
    left_out: notCounted
      .filter((row) => row.period === period && !counted.has(row.invoice_id ?? null))
      .map(leftOut),
    mark_up: markUp === null ? null : markUp.filter((row) => isOf(tenant, row)).map(markUpOf),
    ...{ shipments: null, cannot_say: CANNOT_SAY },
  };
}

/** Whose row it is: `tenant`, `tenant_id` and `partner_id` are among its columns. */
export function tenantOf(row: ReportRow): StatementTenant {
  return {
    tenant: text(row.tenant),
    tenant_id: orNull(row.tenant_id),
    partner_id: orNull(row.partner_id),
  };
}

const CANNOT_SAY: readonly string[] = [
  'Surcharges, dimensional weight and destinations: they are not in an invoice file.',
  'Whether anything was paid.',
  'Why a line was credited or billed again. Lines are taken for billed again when the tracking number stood on an invoice of the same tenant that is void now and is dated on or before theirs.',
  'Invoices that had not come when this was made, and months before the first statement that was sent; what changes in a month that was sent is corrected by the next statement.',
];

/** Differences of zero are none. In order of the months, then as the invoices are asked, then those that are gone. */
function correctionsOf(
  { period, sent, since }: Composing,
  { invoices, notCounted }: Pick<Billed, 'invoices' | 'notCounted'>,
): readonly Correction[] {
  const told = toldIn(sent);
  const stated = new Set(sent.map((each) => each.period));
  const found = new Map(invoices.map((row) => [placeOf(row), row]));
  const due = invoices.filter(
    (row) => text(row.period) !== period && (stated.has(text(row.period)) || between(row, since, period)),
  );
  const places = new Set([...told.keys(), ...due.map(placeOf)]);
  return [...places]
    .flatMap((place): readonly Correction[] => {
      const before = told.get(place);
      const row = found.get(place);
      const isCountedAbove = before?.period === period;
      const is = isCountedAbove || row === undefined ? 0n : toTenThousandths(text(row.amount));
      const was = toTenThousandths(before?.amount ?? '0');
      if (is === was) return [];
      const named = before ?? namedBy(row);
      const gone = notCounted.find((each) => each.invoice_id === named.invoice_id);
      return [
        {
          ...{ period: named.period, invoice_id: named.invoice_id, invoice_number: named.invoice_number },
          currency_code: named.currency_code,
          ...{ told: fromTenThousandths(was), now: fromTenThousandths(is) },
          difference: fromTenThousandths(is - was),
          why: isCountedAbove
            ? 'stands above now, and an earlier statement had corrected it in'
            : whyOf(row, { gone, wasTold: before !== undefined }),
        },
      ];
    })
    .sort((one, other) => compare(sortKey(one), sortKey(other)));
}

interface Told {
  readonly period: string;
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly currency_code: string;
  readonly amount: string;
}

/** What all statements that were sent come to, by month, invoice and currency. */
function toldIn(sent: readonly Statement[]): ReadonlyMap<string, Told> {
  const told = new Map<string, Told>();
  const add = (said: Told): void => {
    const place = placeOf({ ...said });
    const before = told.get(place)?.amount ?? '0';
    const amount = fromTenThousandths(toTenThousandths(before) + toTenThousandths(said.amount));
    told.set(place, { ...said, amount });
  };
  for (const { period, invoices, corrections } of sent) {
    for (const { invoice_id, invoice_number, currency_code, amount } of invoices)
      add({ period, invoice_id, invoice_number, currency_code, amount });
    for (const { difference, ...said } of corrections) add({ ...said, amount: difference });
  }
  return told;
}

function whyOf(
  row: ReportRow | undefined,
  { gone, wasTold }: { readonly gone: ReportRow | undefined; readonly wasTold: boolean },
): string {
  const day = (cell: ReportCell | undefined): string => text(cell).slice(0, 10);
  if (row !== undefined && wasTold) return `another file counts since ${day(row.loaded_at)}`;
  if (row !== undefined) return `came late: loaded on ${day(row.loaded_at)}`;
  if ((gone?.voided_at ?? null) !== null) return `voided on ${day(gone?.voided_at)}`;
  return 'no longer billed to this tenant in that month';
}

function between(row: ReportRow, since: string, until: string): boolean {
  return text(row.period) >= since && text(row.period) < until;
}

function namedBy(row: ReportRow | undefined): Told {
  if (row === undefined) throw new Error('A correction needs what was told or what is billed.');
  return {
    ...{ period: text(row.period), invoice_id: text(row.invoice_id), amount: '0' },
    ...{ invoice_number: orNull(row.invoice_number), currency_code: text(row.currency_code) },
  };
}

function placeOf(row: ReportRow): string {
  return JSON.stringify([row.period, row.invoice_id, row.currency_code]);
}

function sortKey({ period, invoice_number, invoice_id, currency_code }: Correction): string {
  return [period, invoice_number ?? '', invoice_id, currency_code].join('\0');
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function cellOf(row: ReportRow): BilledCell {
  return {
    kind: text(row.kind) as LineKind,
    ...{ carrier: text(row.carrier), service_level: orNull(row.service_level), zone: orNull(row.zone) },
    currency_code: text(row.currency_code),
    ...{ lines: Number(row.lines), packages: Number(row.packages), amount: text(row.amount) },
  };
}

function leftOut(row: ReportRow): LeftOut {
  const voidedAt = orNull(row.voided_at);
  return {
    ...{ invoice_id: text(row.invoice_id), invoice_number: orNull(row.invoice_number) },
    state: text(row.state).replaceAll('_', ' '),
    reason: voidedAt === null ? orNull(row.reason) : `voided on ${voidedAt.slice(0, 10)}`,
    ...{ stated_total: orNull(row.stated_total), currency_code: orNull(row.currency_code) },
  };
}

/** `margin` tells tenants by their label; with one partner, invoices that name none are its own. */
function isOf({ tenant, partner_id }: StatementTenant, row: ReportRow): boolean {
  const isSame = row.partner_id === null || partner_id === null || row.partner_id === partner_id;
  return row.tenant === tenant && isSame;
}

function markUpOf(row: ReportRow): MarkUp {
  return {
    ...{ carrier: text(row.carrier), currency_code: text(row.currency_code) },
    ...{ tracking_numbers: Number(row.tracking_numbers), covered_numbers: Number(row.covered_numbers) },
    coverage_percent: orNull(row.coverage_percent),
    ...{ billing_cost: text(row.billing_cost), covered_cost: text(row.covered_cost) },
    ...{ own_cost: text(row.own_cost), margin: text(row.margin), margin_percent: orNull(row.margin_percent) },
  };
}

const PROVED: Readonly<Record<string, string>> = {
  hash: 'the SHA-256 that the billing service told',
  header: 'the count and sum that the invoice states',
};

function provedBy({ proof, discrepancy_rules: broken }: ReportRow): string {
  const by = PROVED[text(proof)] ?? 'nothing: neither its SHA-256 nor its count and sum were announced';
  return broken === null || broken === undefined ? by : `${by}; it differs in ${broken}`;
}

function text(cell: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell);
}

function orNull(cell: ReportCell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}
