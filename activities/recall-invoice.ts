/** Reads what is recorded of an invoice, for a run that no event started. */

import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { type InvoiceLedger, ledgerOf } from './ledger.js';

export function recallInvoice({ warehouse }: WarehouseDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<InvoiceLedger> =>
    translated(async () => ledgerOf(await warehouse.invoice(invoiceId)));
}
