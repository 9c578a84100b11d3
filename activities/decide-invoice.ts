/** Records what a person decided about an invoice: a void undone, an older version that counts. */

import type { Decided, Decision } from '../warehouse/warehouse.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { attentionKey } from './park-invoice.ts';
import { voidedAfterLoadKey } from './void-invoice.ts';

export function decideInvoice({ warehouse, alerts, log }: WarehouseDependencies) {
  return (decision: Decision): Promise<Decided> =>
    translated(async () => {
      const decided = await warehouse.decide(decision);
      if (decided.outcome === 'done' && !decision.isDryRun) {
        const { kind, invoiceId, by, reason } = decision;
        log.info({ invoiceId, by, reason }, `a person decided: ${kind}`);
        alerts.resolve(`outranked/${invoiceId}`);
        if (kind === 'restore') {
          alerts.resolve(attentionKey(invoiceId));
          // It counts again, as whoever was given figures with it believes.
          alerts.resolve(voidedAfterLoadKey(invoiceId));
        }
      }
      return decided;
    });
}
