/** Takes an invoice out of every total; its rows stay. */

import type { AlertKey } from '../lib/alerts/runbook/runbook.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { attentionKey } from './park-invoice.ts';

/** Of the alert; what makes the invoice count again takes it back, or a person who has seen it. */
export function voidedAfterLoadKey(invoiceId: string): AlertKey {
  return `voided-after-load/${invoiceId}`;
}

export function voidInvoice({ warehouse, alerts }: WarehouseDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<{ readonly hadRows: boolean }> =>
    translated(async () => {
      const { hadRows } = await warehouse.voidInvoice(invoiceId);
      alerts.resolve(attentionKey(invoiceId));
      if (hadRows) {
        alerts.raise({
          key: voidedAfterLoadKey(invoiceId),
          title: `Invoice ${invoiceId} was voided after it was loaded`,
          detail: `Its shipments left every total. Who was given figures with them has to be told; \`billsync invoices show ${invoiceId}\` says since when it counted.`,
        });
      }
      return { hadRows };
    });
}
