/** Which files of the archive a purge may remove without changing what any report answers from an instant on (ADR 20). */

import type { Database } from '../duckdb/database.ts';
import type { RemovableFile } from '../warehouse.ts';

/** @param before ISO 8601 UTC */
export async function readRemovableFiles(
  database: Database,
  before: string,
): Promise<readonly RemovableFile[]> {
  const rows = await database.all('removable-files', { before: before.replace(/Z$/, '') });
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return rows.map((row) => ({
    sha256: String(row.file_sha256),
    sizeBytes: Number(row.file_size_bytes),
    invoiceId: String(row.invoice_id),
    invoiceNumber: text(row.invoice_number),
    tenantId: text(row.tenant_id),
    partnerTenantId: text(row.partner_tenant_id),
    why: row.why as RemovableFile['why'],
    rows:
      row.load_id === null
        ? null
        : {
            shipments: Number(row.shipments),
            billingCost: String(row.billing_cost),
            currencyCode: text(row.currency_code),
          },
  }));
}
