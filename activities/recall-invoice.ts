/** Reads what is recorded of an invoice, for a run that no event started. */

import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { type InvoiceLedger, ledgerOf } from './ledger.ts';

export function recallInvoice({ warehouse }: WarehouseDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<InvoiceLedger> =>
    translated(async () => ledgerOf(await warehouse.invoice(invoiceId)));
}
