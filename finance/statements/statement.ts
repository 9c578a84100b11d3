/** A tenant's statement of a month, as data; every format shows this. */

import { createHash } from 'node:crypto';
import { sumOfAmounts } from '../../lib/wire/decimal.ts';
import { BillsyncError, EXIT } from '../../lib/wire/errors.ts';
import type { ReportCell, ReportColumn, ReportRow } from '../../reports/cells.ts';
import { renderCsv } from '../../reports/render/csv-text.ts';
import type { DateBasis } from '../../reports/report-filters.ts';

export type LineKind = 'charge' | 'billed again' | 'credit';

export interface StatementTenant {
  /** The label of the reports, unique among the tenants of its partner. */
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
  /** The proof of its file and the rules it broke, as text. */
  readonly proved_by: string;
  readonly file_sha256: string;
  /** ISO 8601 UTC. */
  readonly loaded_at: string;
}

/** The amount of an invoice in earlier statements, and the amount billed now. */
export interface Correction {
  /** The month that `by` of the statement puts the lines into. */
  readonly period: string;
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly currency_code: string;
  readonly previous: string;
  readonly current: string;
  /** `current` less `previous`: what the total of this statement takes in. */
  readonly difference: string;
  readonly reason: string;
}

/** An invoice of this month that is in no total. */
export interface LeftOut {
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly state: string;
  readonly reason: string | null;
  readonly stated_total: string | null;
  readonly currency_code: string | null;
}

/** A row of the report `margin`. */
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
  /** ISO 8601 UTC; null for a draft. */
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
  /** The lines, in a CSV file beside it; null: without them. */
  readonly shipments: { readonly lines: number; readonly sha256: string } | null;
  readonly cannot_say: readonly string[];
}

/** The key of a tenant. */
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

/** The tenant of a row: `tenant`, `tenant_id` and `partner_id` are among its columns. */
export function tenantOf(row: ReportRow): StatementTenant {
  return {
    tenant: textOf(row.tenant),
    tenant_id: orNull(row.tenant_id),
    partner_id: orNull(row.partner_id),
  };
}

export function cellOf(row: ReportRow): BilledCell {
  return {
    kind: textOf(row.kind) as LineKind,
    ...{ carrier: textOf(row.carrier), service_level: orNull(row.service_level), zone: orNull(row.zone) },
    currency_code: textOf(row.currency_code),
    ...{ lines: Number(row.lines), packages: Number(row.packages), amount: textOf(row.amount) },
  };
}

export function invoiceOf(row: ReportRow): InvoiceProof {
  return {
    ...{ invoice_id: textOf(row.invoice_id), invoice_number: orNull(row.invoice_number) },
    ...{ currency_code: textOf(row.currency_code), lines: Number(row.lines), amount: textOf(row.amount) },
    proved_by: provedBy(row),
    ...{ file_sha256: textOf(row.file_sha256), loaded_at: textOf(row.loaded_at) },
  };
}

export function leftOut(row: ReportRow): LeftOut {
  const voidedAt = orNull(row.voided_at);
  return {
    ...{ invoice_id: textOf(row.invoice_id), invoice_number: orNull(row.invoice_number) },
    state: textOf(row.state).replaceAll('_', ' '),
    reason: voidedAt === null ? orNull(row.reason) : `voided on ${voidedAt.slice(0, 10)}`,
    ...{ stated_total: orNull(row.stated_total), currency_code: orNull(row.currency_code) },
  };
}

/** `margin` identifies tenants by label; with one partner, invoices without a partner are its own. */
export function isOf({ tenant, partner_id }: StatementTenant, row: ReportRow): boolean {
  const isSame = row.partner_id === null || partner_id === null || row.partner_id === partner_id;
  return row.tenant === tenant && isSame;
}

export function markUpOf(row: ReportRow): MarkUp {
  return {
    ...{ carrier: textOf(row.carrier), currency_code: textOf(row.currency_code) },
    ...{ tracking_numbers: Number(row.tracking_numbers), covered_numbers: Number(row.covered_numbers) },
    coverage_percent: orNull(row.coverage_percent),
    ...{ billing_cost: textOf(row.billing_cost), covered_cost: textOf(row.covered_cost) },
    ...{
      own_cost: textOf(row.own_cost),
      margin: textOf(row.margin),
      margin_percent: orNull(row.margin_percent),
    },
  };
}

const PROVED: Readonly<Record<string, string>> = {
  hash: 'the SHA-256 that the billing service announced',
  header: 'the count and sum that the invoice states',
};

function provedBy({ proof, discrepancy_rules: broken }: ReportRow): string {
  const by = PROVED[textOf(proof)] ?? 'nothing: neither its SHA-256 nor its count and sum were announced';
  return broken === null || broken === undefined ? by : `${by}; it differs in ${broken}`;
}

export function textOf(cell: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell);
}

export function orNull(cell: ReportCell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}

export interface ShipmentLines {
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
}

/** Rendered twice: for its hash in the statement, and for the file. */
const rendered = new WeakMap<ShipmentLines, string>();

/** RFC 4180; the same bytes for the same lines. */
export function shipmentsCsv(lines: ShipmentLines): string {
  const csv = rendered.get(lines) ?? renderCsv(lines);
  rendered.set(lines, csv);
  return csv;
}

export function namedLines(lines: ShipmentLines): { readonly lines: number; readonly sha256: string } {
  const sha256 = createHash('sha256').update(shipmentsCsv(lines)).digest('hex');
  return { lines: lines.rows.length, sha256 };
}

export const PAPERS = ['a4', 'letter'] as const;
export type PaperSize = (typeof PAPERS)[number];

/** The request is invalid: an ambiguous tenant, a period that is not a month, too many lines. */
export class StatementRefusedError extends BillsyncError {
  readonly code = 'statement-refused';
  override readonly exitCode = EXIT.usage;
}

/** No tenant has that name or id. */
export class NoSuchTenantError extends BillsyncError {
  readonly code = 'no-such-tenant';
  override readonly exitCode = EXIT.nothingMatched;
}

/** These tenants got no statement; all others did. */
export class StatementsFailedError extends BillsyncError {
  readonly code = 'statements-failed';
  override readonly exitCode = EXIT.checkFailed;

  constructor(made: number, failed: readonly { readonly tenant: string; readonly error: unknown }[]) {
    const named = failed.map(({ tenant, error }) => `${tenant} (${reasonOf(error)})`).join(', ');
    super(`no statement could be made of ${named}; ${made} of ${made + failed.length} were`, {
      hint: 'the same command makes those that are missing once the reason is gone',
      cause: failed[0]?.error,
    });
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
}

/** A sent statement cannot be read, so corrections are unknown. */
export class SentStatementError extends BillsyncError {
  readonly code = 'sent-statement-damaged';
  override readonly exitCode = EXIT.checkFailed;
}
