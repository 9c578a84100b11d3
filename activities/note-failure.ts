/** Records a failure on the invoice while it is being retried, and raises an alert when retrying alone may not help. */

import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface NoteFailureRequest {
  readonly invoiceId: string;
  /** null: what went wrong goes well again. */
  readonly failure: { readonly code: string; readonly reason: string } | null;
  readonly isAlert: boolean;
}

export function noteFailure({ warehouse, alerts }: WarehouseDependencies) {
  return ({ invoiceId, failure, isAlert }: NoteFailureRequest): Promise<void> =>
    translated(async () => {
      await warehouse.recordFailure(invoiceId, failure);
      const key = `failure/${invoiceId}` as const;
      if (failure === null) alerts.resolve(key);
      else if (isAlert) {
        alerts.raise({
          key,
          title: `Invoice ${invoiceId} cannot be asked about`,
          detail: `${failure.reason} It counts as it is loaded; whether it was voided since is not known.`,
        });
      }
    });
}
