/** Keeps what the details endpoint answered; a rebuild cannot ask it again. */

import type { InvoiceHeader, WebhookStatus } from '../lib/wire/names.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface RecordDetailsRequest {
  readonly invoiceId: string;
  readonly status: WebhookStatus | null;
  /** The status as the service wrote it when nobody knows the word. */
  readonly unknownStatus?: string | null;
  readonly header: Partial<InvoiceHeader>;
}

/** A status that nobody knows is kept and told to a person: it may be a void in other words. */
export function recordDetails({ warehouse, alerts }: WarehouseDependencies) {
  return (details: RecordDetailsRequest): Promise<void> =>
    translated(async () => {
      const { invoiceId, unknownStatus = null } = details;
      await warehouse.recordDetails(details);
      const key = `unknown-status/${invoiceId}` as const;
      if (unknownStatus === null) return alerts.resolve(key);
      alerts.raise({
        key,
        title: `Invoice ${invoiceId} has an unknown status`,
        detail: `The service says "${unknownStatus}". Nothing was changed: an invoice that was loaded stays in the totals, one that was not is not loaded because of it. Ask the service what the word means; a void arrives as an event or as one of the known words.`,
      });
    });
}
