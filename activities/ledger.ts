/** What the warehouse tells a workflow of an invoice: enough to go on from where an earlier run was. */

import type { InvoiceState } from '../contract/names.js';
import type { InvoiceSummary } from '../warehouse/warehouse.js';

export interface InvoiceLedger {
  /** null when nothing is recorded of the invoice. */
  readonly state: InvoiceState | null;
  readonly loadedSha256: string | null;
}

export function ledgerOf(invoice: InvoiceSummary | null): InvoiceLedger {
  return { state: invoice?.state ?? null, loadedSha256: invoice?.loadedSha256 ?? null };
}
