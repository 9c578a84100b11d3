/** What the warehouse tells a workflow of an invoice: enough to go on from where an earlier run was. */

import type { InvoiceState } from '../lib/wire/names.ts';
import type { InvoiceSummary, VoidBasis } from '../warehouse/warehouse.ts';

export interface InvoiceLedger {
  /** null when nothing is recorded of the invoice. */
  readonly state: InvoiceState | null;
  readonly loadedSha256: string | null;
  /** On whose word it is voided; null: it is not. */
  readonly voidBasis: VoidBasis | null;
  /** A person undid a void, and nothing has voided it since. */
  readonly isRestored: boolean;
  /** What goes wrong while work goes on, as it stands on the invoice; null: nothing. */
  readonly failureCode: string | null;
}

export function ledgerOf(invoice: InvoiceSummary | null): InvoiceLedger {
  if (invoice === null) {
    return { state: null, loadedSha256: null, voidBasis: null, isRestored: false, failureCode: null };
  }
  const { state, loadedSha256, voidBasis, restoredAt, reasonCode } = invoice;
  const isRestored = restoredAt !== null && voidBasis === null;
  const failureCode = state === 'needs_attention' ? null : reasonCode;
  return { state, loadedSha256, voidBasis, isRestored, failureCode };
}
