/** Takes an invoice out of every total; its rows stay. */

import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { attentionKey } from './park-invoice.js';

export function voidInvoice({ warehouse, alerts }: WarehouseDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<{ readonly hadRows: boolean }> =>
    translated(async () => {
      const { hadRows } = await warehouse.voidInvoice(invoiceId);
      alerts.resolve(attentionKey(invoiceId));
      return { hadRows };
    });
}
