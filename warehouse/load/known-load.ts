/** Whether there is anything to do for a file; asked before the transaction, which asks again. */

import type { Ledgers } from '../duckdb/statements.js';
import { deriveInvoice } from '../ledger/derive-invoice.js';
import { readInvoiceLines } from '../ledger/invoice-states.js';
import type { LoadOutcome, LoadRequest } from '../warehouse.js';

/** The answer for an invoice that is voided or has this file already; null when there is work to do. */
export async function knownLoad(
  ledgers: Ledgers,
  { invoiceId, sha256 }: Pick<LoadRequest, 'invoiceId' | 'sha256'>,
): Promise<LoadOutcome | null> {
  const [known] = await ledgers.all('load-known', { invoice_id: invoiceId, file_sha256: sha256 });
  if (known?.is_voided === true) return { outcome: 'voided' };
  if (known?.is_loaded !== true) return null;
  const lines = await ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId]));
  const of = lines.get(invoiceId);
  const derived = of === undefined ? null : deriveInvoice(of);
  if (of === undefined || derived === null) return null;
  const load = of.loads.find((line) => line.file_sha256 === sha256);
  if (load === undefined) return null;
  const counting = of.loads.find((line) => line.load_id === derived.row.current_load_id);
  return {
    outcome: 'already_loaded',
    countingVersion: counting?.version ?? load.version,
    loadId: load.load_id,
    version: load.version,
    shipments: load.shipments,
    billingCost: load.billing_cost,
    currencyCode: load.currency_code ?? '',
    proof: derived.row.proof ?? 'unproved',
    discrepancies: derived.discrepancies.map(({ rule, stated, found }) => ({ rule, stated, found })),
  };
}
