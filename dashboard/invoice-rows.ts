/** The rows of a few invoices that were found by a narrow question: of a million invoices whole rows are dear. */

import { listValue } from '@duckdb/node-api';
import type { ReportRow } from '../reports/cells.ts';
import type { Ask } from './published-questions.ts';

/** @param found each with its `invoice_id` @returns in their order, with what `invoices.sql` tells of each */
export async function rowsOfInvoices(ask: Ask, found: readonly ReportRow[]): Promise<readonly ReportRow[]> {
  if (found.length === 0) return [];
  return ask('invoices', { ids: listValue(found.map((row) => String(row.invoice_id))) });
}

/** Gives an invoice whose files name no tenant, or that has none yet, the name under which that tenant is billed, else the partner's id of it. */
export async function withTenants(ask: Ask, rows: readonly ReportRow[]): Promise<readonly ReportRow[]> {
  const unnamed = rows.flatMap(({ tenant, tenant_id: id }) =>
    tenant === null && typeof id === 'string' ? id : [],
  );
  const names = new Map<string, ReportRow[string] | undefined>();
  if (unnamed.length > 0) {
    const tenants = await ask('tenant-names', { tenants: listValue([...new Set(unnamed)]) });
    for (const row of tenants) names.set(keyOf(row), row.tenant);
  }
  return rows.map((row) => ({
    ...row,
    tenant: row.tenant ?? names.get(keyOf(row)) ?? row.partner_tenant_id ?? null,
  }));
}

/** Selects these columns of a row. */
export function pick(row: ReportRow, columns: readonly string[]): ReportRow {
  return Object.fromEntries(columns.map((column) => [column, row[column] ?? null]));
}

function keyOf({ partner_id: partner, tenant_id: tenant }: ReportRow): string {
  return JSON.stringify([partner, tenant]);
}
