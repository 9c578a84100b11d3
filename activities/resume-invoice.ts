/** Ends an invoice's `needs_attention`, because it is tried again. The alert is taken back once that worked. */

import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export function resumeInvoice({ warehouse }: WarehouseDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<void> =>
    translated(() => warehouse.clearNeedsAttention(invoiceId));
}
