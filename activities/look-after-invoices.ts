/** Starts, asks or retries the workflows of the invoices that a reconciliation found. */

import { getClient, heartbeat } from '@temporalio/activity';
import type { Settings } from '../lib/config/settings.ts';
import type { DueInvoice } from '../warehouse/warehouse.ts';
import { lookUpInvoice, retryInvoice, watchInvoice } from '../workflows/client/invoice-client.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface LookAfterRequest {
  readonly how: 'watch' | 'recheck' | 'retry';
  readonly invoices: readonly DueInvoice[];
  readonly queues: { readonly billing: string; readonly warehouse: string };
}

/** Each call is harmless to repeat: an open run is not disturbed, a settled one answers and ends. */
export function lookAfterInvoices({ settings, warehouse, now }: WarehouseDependencies) {
  return ({ how, invoices, queues }: LookAfterRequest): Promise<void> =>
    translated(async () => {
      const client = getClient();
      const { environment, overdueAfter, confirmVoids }: Settings = settings;
      const route = { environment, overdueAfter, confirmVoids, queues };
      for (const invoice of invoices) {
        if (how === 'watch') await watchInvoice(client, route, invoice);
        else if (how === 'retry') await retryInvoice(client, route, invoice, 'reconcile');
        else await lookUpInvoice(client, route, invoice, { cause: 'reconcile' });
        heartbeat();
      }
      // What is watched has an open run from here on; what was asked or tried again is not due for a while.
      if (how !== 'watch' && invoices.length > 0) {
        const asked = invoices.map(({ invoiceId }) => invoiceId);
        await warehouse.recordServiceCheck(asked, now().toISOString());
      }
    });
}
