/** From rows of the published file to what a statement says of them. */

import type { ReportCell, ReportRow } from '../../reports/report-result.ts';
import type { BilledCell, InvoiceProof, LeftOut, LineKind, MarkUp, StatementTenant } from './statement.ts';

/** Whose row it is: `tenant`, `tenant_id` and `partner_id` are among its columns. */
export function tenantOf(row: ReportRow): StatementTenant {
  return {
    tenant: text(row.tenant),
    tenant_id: orNull(row.tenant_id),
    partner_id: orNull(row.partner_id),
  };
}

export function cellOf(row: ReportRow): BilledCell {
  return {
    kind: text(row.kind) as LineKind,
    ...{ carrier: text(row.carrier), service_level: orNull(row.service_level), zone: orNull(row.zone) },
    currency_code: text(row.currency_code),
    ...{ lines: Number(row.lines), packages: Number(row.packages), amount: text(row.amount) },
  };
}

export function invoiceOf(row: ReportRow): InvoiceProof {
  return {
    ...{ invoice_id: text(row.invoice_id), invoice_number: orNull(row.invoice_number) },
    ...{ currency_code: text(row.currency_code), lines: Number(row.lines), amount: text(row.amount) },
    proved_by: provedBy(row),
    ...{ file_sha256: text(row.file_sha256), loaded_at: text(row.loaded_at) },
  };
}

/** An invoice of the month that no total has. */
export function leftOut(row: ReportRow): LeftOut {
  const voidedAt = orNull(row.voided_at);
  return {
    ...{ invoice_id: text(row.invoice_id), invoice_number: orNull(row.invoice_number) },
    state: text(row.state).replaceAll('_', ' '),
    reason: voidedAt === null ? orNull(row.reason) : `voided on ${voidedAt.slice(0, 10)}`,
    ...{ stated_total: orNull(row.stated_total), currency_code: orNull(row.currency_code) },
  };
}

/** `margin` tells tenants by their label; with one partner, invoices that name none are its own. */
export function isOf({ tenant, partner_id }: StatementTenant, row: ReportRow): boolean {
  const isSame = row.partner_id === null || partner_id === null || row.partner_id === partner_id;
  return row.tenant === tenant && isSame;
}

export function markUpOf(row: ReportRow): MarkUp {
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

export function text(cell: ReportCell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell);
}

export function orNull(cell: ReportCell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}
