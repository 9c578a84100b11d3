/** Records that an invoice needs a person, with the reason, and raises an alert. */

import type { AlertKey } from '../lib/alerts/runbook/runbook.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface ParkInvoiceRequest {
  readonly invoiceId: string;
  /** Stable code, e.g. `hash-mismatch`, `csv-rejected`. */
  readonly code: string;
  /** What happened, what was tried, what to do. */
  readonly reason: string;
}

export function attentionKey(invoiceId: string): AlertKey {
  return `attention/${invoiceId}`;
}

export function parkInvoice({ warehouse, alerts }: WarehouseDependencies) {
  return (request: ParkInvoiceRequest): Promise<void> =>
    translated(async () => {
      const { invoiceId, reason } = request;
      await warehouse.markNeedsAttention(request);
      alerts.raise({
        key: attentionKey(invoiceId),
        title: `Invoice ${invoiceId} needs attention`,
        detail: reason,
      });
    });
}
