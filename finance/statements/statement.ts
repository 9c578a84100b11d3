import { createHash } from 'node:crypto';
import { sumOfAmounts } from '../../lib/decimal.ts';
import { type ErrorDetails, EXIT, errorClass } from '../../lib/errors.ts';
import type { ReportCell, ReportColumn, ReportRow } from '../../reports/cells.ts';
import { renderCsv } from '../../reports/render/csv-text.ts';
import type { DateBasis } from '../../reports/report-filters.ts';

export type LineKind = 'charge' | 'billed again' | 'credit';

export interface StatementTenant {
  /** The tenant's label in reports, unique among the tenants of a partner. */
  readonly tenant: string;
  /** The tenant's id; null when the tenant is known by its name alone. */
  readonly tenant_id: string | null;
  readonly partner_id: string | null;
}

/** Money is decimal text with four decimals everywhere here. */
export interface BilledCell {
  readonly kind: LineKind;
  readonly carrier: string;
  readonly service_level: string | null;
  readonly zone: string | null;
  readonly currency_code: string;
  readonly lines: number;
  /** The number of distinct tracking numbers. */
  readonly packages: number;
  readonly amount: string;
}

export interface InvoiceProof {
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly currency_code: string;
  readonly lines: number;
  readonly amount: string;
  readonly proved_by: string;
  readonly file_sha256: string;
  /** When the file was loaded, in ISO 8601 UTC. */
  readonly loaded_at: string;
}

export interface Correction {
  readonly period: string;
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  readonly currency_code: string;
  readonly previous: string;
  readonly current: string;
  /** `current` less `previous`, which is part of the statement's total. */
  readonly difference: string;
  readonly reason: string;
}

export interface LeftOut {
  readonly invoice_id: string;
  readonly invoice_number: string | null;
  /** A text for the tenant, which names nothing of our service or our machines. */
  readonly state: string;
  readonly is_void: boolean;
  readonly stated_total: string | null;
  readonly currency_code: string | null;
}

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
  /** The sum of the three amounts above: the total of `report tenants` for the month. */
  readonly billed: string;
  readonly corrections: string;
  readonly total: string;
}

/** The head of a statement, from the files that were given when it was made (statement-heads.ts). */
export interface StatementHead {
  readonly sender: { readonly name: string; readonly address: string } | null;
  /** The tenant's address; '' when none is given. */
  readonly address: string;
  /** The sender's logo, a JPEG in base64; null when none is given. */
  readonly logo: string | null;
  readonly due_days: number | null;
  /** The due date, `YYYY-MM-DD`; null for a draft, or when no days are given. */
  readonly due_on: string | null;
}

export interface Statement extends StatementTenant {
  readonly head?: StatementHead;
  /** The month, as `YYYY-MM`. */
  readonly period: string;
  readonly by: DateBasis;
  /** When the statement was sent, in ISO 8601 UTC; null for a draft. */
  readonly sent_at: string | null;
  /** Counts the statements sent to the tenant, from 1; null for a draft. */
  readonly number?: number | null;
  /** The reason for which it was sent although invoices of the month did not count yet; null when none was missing. */
  readonly accepted_incomplete?: string | null;
  /** The statement of the same month that this one replaces, and that no longer counts. */
  readonly replaces?: {
    readonly number?: number | null | undefined;
    readonly sent_at: string | null;
    readonly reason: string;
  } | null;
  readonly publication: number;
  readonly published_at: string;
  readonly totals: readonly CurrencyTotal[];
  readonly billed: readonly BilledCell[];
  readonly corrections: readonly Correction[];
  readonly invoices: readonly InvoiceProof[];
  readonly left_out: readonly LeftOut[];
  readonly mark_up: readonly MarkUp[] | null;
  readonly shipments: { readonly lines: number; readonly sha256: string } | null;
  readonly limits: readonly string[];
}

export function keyOf({ partner_id, tenant_id, tenant }: StatementTenant): string {
  return JSON.stringify([partner_id, tenant_id, tenant_id === null ? tenant : null]);
}

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

export function tenantOf(row: ReportRow): StatementTenant {
  return {
    tenant: textOf(row.tenant),
    tenant_id: orNull(row.tenant_id),
    partner_id: orNull(row.partner_id),
  };
}

function columnsOf<T>(row: ReportRow, names: readonly (keyof T & string)[]): T {
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null])) as T;
}

export function cellOf(row: ReportRow): BilledCell {
  return columnsOf(row, [
    ...(['kind', 'carrier', 'service_level', 'zone', 'currency_code'] as const),
    ...(['lines', 'packages', 'amount'] as const),
  ]);
}

export function invoiceOf(row: ReportRow): InvoiceProof {
  return {
    ...columnsOf<Omit<InvoiceProof, 'proved_by'>>(row, [
      ...(['invoice_id', 'invoice_number', 'currency_code', 'lines', 'amount'] as const),
      ...(['file_sha256', 'loaded_at'] as const),
    ]),
    proved_by: provedBy(row),
  };
}

export function leftOut(row: ReportRow): LeftOut {
  const voidedAt = orNull(row.voided_at);
  const isVoid = voidedAt !== null && row.state === 'voided';
  return {
    ...columnsOf<Omit<LeftOut, 'state' | 'is_void'>>(row, [
      ...(['invoice_id', 'invoice_number', 'stated_total', 'currency_code'] as const),
    ]),
    state: isVoid ? `voided on ${voidedAt.slice(0, 10)}` : (STATES[textOf(row.state)] ?? 'being checked'),
    is_void: isVoid,
  };
}

const STATES: Readonly<Record<string, string>> = { draft: 'not approved yet' };

/** `margin` identifies tenants by label; with one partner, invoices without a partner are its own. */
export function isOf({ tenant, partner_id }: StatementTenant, row: ReportRow): boolean {
  const isSame = row.partner_id === null || partner_id === null || row.partner_id === partner_id;
  return row.tenant === tenant && isSame;
}

export function markUpOf(row: ReportRow): MarkUp {
  return columnsOf(row, [
    ...(['carrier', 'currency_code', 'tracking_numbers', 'covered_numbers', 'coverage_percent'] as const),
    ...(['billing_cost', 'covered_cost', 'own_cost', 'margin', 'margin_percent'] as const),
  ]);
}

const PROVED: Readonly<Record<string, string>> = {
  hash: 'the SHA-256 that the billing service named',
  announced: 'nothing yet: an event announced its SHA-256, which the billing service has not confirmed',
  header: 'the count and sum that the invoice states',
};

export function proofText(proof: ReportCell | undefined): string {
  return PROVED[textOf(proof)] ?? 'nothing: neither its SHA-256 nor its count and sum were announced';
}

function provedBy({ proof, discrepancy_rules: broken }: ReportRow): string {
  const by = proofText(proof);
  const differences = textOf(broken)
    .split(', ')
    .flatMap((rule) => DIFFERENCES[rule] ?? []);
  return differences.length === 0 ? by : `${by}; it differs in ${differences.join(' and ')}`;
}

/** Discrepancies that a tenant is told about; the others concern how a file came to us. */
const DIFFERENCES: Readonly<Record<string, string>> = {
  'total-amount': 'the stated total',
  'shipment-count': 'the stated number of lines',
  currency: 'the stated currency',
  period: 'the billing period',
};

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

export function namedLines(lines: ShipmentLines): { readonly lines: number; readonly sha256: string } {
  const sha256 = createHash('sha256').update(renderCsv(lines)).digest('hex');
  return { lines: lines.rows.length, sha256 };
}

export const PAPERS = ['a4', 'letter'] as const;
export type PaperSize = (typeof PAPERS)[number];

export class StatementError extends errorClass({
  'statement-refused': { message: '%s', exitCode: EXIT.usage },
  'no-such-tenant': { message: '%s', exitCode: EXIT.nothingMatched },
  'statement-incomplete': {
    message: 'known invoices of the month do not count yet: %s',
    exitCode: EXIT.checkFailed,
    hint: 'load them, or add --accept-incomplete REASON, which the statement then contains',
  },
  'statements-failed': {
    message: 'no statement could be made of %s; %s of %s were',
    exitCode: EXIT.checkFailed,
    hint: 'the same command makes those that are missing once the reason is gone',
  },
  'sent-statement-damaged': {
    message: 'A statement that was sent cannot be read, so nothing is corrected by it',
    exitCode: EXIT.checkFailed,
    hint: 'restore it from a backup: without it the amounts that the tenant received are unknown',
  },
}) {}

export function statementRefused(message: string, hint?: string, more: ErrorDetails = {}): StatementError {
  return new StatementError('statement-refused', [message], { hint, ...more });
}
