/** Asks the service what it knows of an invoice (spec 4.4): how an event that never came is found. */

import { cancellationSignal } from '@temporalio/activity';
import { isBillingError } from '../billing/errors.ts';
import type { InvoiceHeader, WebhookStatus } from '../lib/wire/names.ts';
import { alertingRefusal } from './credentials-alert.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export type LookUpInvoiceResult =
  | {
      readonly outcome: 'found';
      /** null when the answer named no status that we know. */
      readonly status: WebhookStatus | null;
      /** The status as the service wrote it when it is not a known one. */
      readonly unknownStatus?: string | null;
      readonly header: Partial<InvoiceHeader>;
    }
  | { readonly outcome: 'not-found' };

export function lookUpInvoice({ service, alerts }: BillingDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<LookUpInvoiceResult> =>
    translated(async () => {
      try {
        const ask = () => service.lookUpInvoice(invoiceId, { signal: cancellationSignal() });
        const details = await alertingRefusal(alerts, ask, { provesThem: true });
        alerts.resolve(ALERT_KEY);
        return { outcome: 'found', ...details };
      } catch (error) {
        if (isBillingError(error, 'unknown-invoice')) return { outcome: 'not-found' };
        if (isBillingError(error, 'forbidden', 'refused', 'redirect', 'unexpected-answer'))
          tellUnusable(error.message);
        throw error;
      }
    });

  /** The file may still be had, so invoices load; who is not told believes that voids would be noticed. */
  function tellUnusable(message: string): void {
    const title = 'The details of invoices cannot be read';
    const detail = `${message} Invoices are loaded all the same; a void whose event was lost is not found meanwhile.`;
    alerts.raise({ key: ALERT_KEY, title, detail });
  }
}

const ALERT_KEY = 'service/details';
