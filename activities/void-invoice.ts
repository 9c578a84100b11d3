/** Takes an invoice out of every total; its rows stay. */

import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { attentionKey } from './park-invoice.js';

export interface VoidInvoiceRequest {
  readonly invoiceId: string;
  readonly cause: 'event' | 'details';
}

export function voidInvoice({ warehouse, alerts }: WarehouseDependencies) {
  return (request: VoidInvoiceRequest): Promise<{ readonly hadRows: boolean }> =>
    translated(async () => {
      const { hadRows } = await warehouse.voidInvoice(request);
      alerts.resolve(attentionKey(request.invoiceId));
      return { hadRows };
    });
}
