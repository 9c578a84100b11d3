/** What a tenant was billed in a month, as data: every form of a statement shows this and nothing else. */

import { sumOfAmounts } from '../../lib/wire/decimal.ts';
import type { DateBasis } from '../../reports/report-filters.ts';

/** What a line is taken for; each is of one kind. */
export type LineKind = 'charge' | 'billed again' | 'credit';

export interface StatementTenant {
  /** As the reports call it: unique among the tenants of its partner. */
  readonly tenant: string;
  /** null: known by name alone. */
  readonly tenant_id: string | null;
  readonly partner_id: string | null;
}

/** Money is decimal text with four decimals, everywhere here. */
export interface BilledCell {
  readonly kind: LineKind;
  readonly carrier: string;
  readonly service_level: string | null;
  readonly zone: string | null;
  readonly currency_code: string;
  readonly lines: number;
  /** Distinct tracking numbers. */
  readonly packages: number;
  readonly amount: string;
}

export interface InvoiceProof {
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly currency_code: string;
  readonly lines: number;
  readonly amount: string;
  /** What proved its file, and which rules it broke, in words. */
  readonly proved_by: string;
  readonly file_sha256: string;
  /** ISO 8601 UTC. */
  readonly loaded_at: string;
}

/** What earlier statements said of an invoice, and what is billed by now. */
export interface Correction {
  /** The month that `by` of the statement puts the lines into. */
  readonly period: string;
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly currency_code: string;
  readonly told: string;
  readonly now: string;
  /** `now` less `told`: what the total of this statement takes in. */
  readonly difference: string;
  readonly why: string;
}

/** Known to be of this month, and in no total. */
export interface LeftOut {
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly state: string;
  readonly reason: string | null;
  readonly stated_total: string | null;
  readonly currency_code: string | null;
}

/** A row of the report `margin`, word for word; counts as text. */
export interface MarkUp {
  readonly carrier: string;
  readonly currency_code: string;
  readonly tracking_numbers: number;
  readonly covered_numbers: number;
  readonly coverage_percent: string | null;
  readonly billing_cost: string;
  readonly covered_cost: string;
  readonly own_cost: string;
  readonly margin: string;
  readonly margin_percent: string | null;
}

export interface CurrencyTotal {
  readonly currency_code: string;
  readonly lines: number;
  readonly charges: string;
  readonly billed_again: string;
  readonly credits: string;
  /** The three before it: what `report tenants` says of the month, by the same date. */
  readonly billed: string;
  readonly corrections: string;
  readonly total: string;
}

export interface Statement extends StatementTenant {
  /** `YYYY-MM`. */
  readonly period: string;
  /** The date that puts a line into the month. */
  readonly by: DateBasis;
  /** ISO 8601 UTC; null for a draft, which may say something else tomorrow. */
  readonly sent_at: string | null;
  /** Number and instant of the publication it was made of. */
  readonly publication: number;
  readonly published_at: string;
  readonly totals: readonly CurrencyTotal[];
  readonly billed: readonly BilledCell[];
  readonly corrections: readonly Correction[];
  readonly invoices: readonly InvoiceProof[];
  readonly left_out: readonly LeftOut[];
  /** null: not asked for. */
  readonly mark_up: readonly MarkUp[] | null;
  /** The lines themselves, which lie beside it as CSV; null: they were not wanted. */
  readonly shipments: { readonly lines: number; readonly sha256: string } | null;
  readonly cannot_say: readonly string[];
}

/** Tells tenants apart, also when they are called alike. */
export function keyOf({ partner_id, tenant_id, tenant }: StatementTenant): string {
  return JSON.stringify([partner_id, tenant_id, tenant_id === null ? tenant : null]);
}

/** @returns one for each currency that something is billed or corrected in */
export function totalsOf(
  cells: readonly BilledCell[],
  corrections: readonly Correction[],
): readonly CurrencyTotal[] {
  const currencies = new Set([...cells, ...corrections].map(({ currency_code }) => currency_code));
  return [...currencies].sort().map((currency) => {
    const here = cells.filter(({ currency_code }) => currency_code === currency);
    const of = (kind: LineKind): string =>
      sumOfAmounts(here.filter((cell) => cell.kind === kind).map(({ amount }) => amount));
    const [charges, billed_again, credits] = [of('charge'), of('billed again'), of('credit')];
    const billed = sumOfAmounts([charges, billed_again, credits]);
    const corrected = sumOfAmounts(
      corrections.flatMap((each) => (each.currency_code === currency ? [each.difference] : [])),
    );
    return {
      ...{ currency_code: currency, lines: here.reduce((count, { lines }) => count + lines, 0) },
      ...{ charges, billed_again, credits, billed },
      ...{ corrections: corrected, total: sumOfAmounts([billed, corrected]) },
    };
  });
}
