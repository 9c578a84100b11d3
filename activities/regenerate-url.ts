/** Asks the service for a fresh presigned URL of an invoice's file (spec 4.3). */

import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { isBillingError } from '../billing/errors.ts';
import type { ExportLocation } from '../lib/wire/names.ts';
import { alertingRefusal } from './credentials-alert.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export type RegenerateUrlResult =
  | { readonly outcome: 'location'; readonly location: ExportLocation }
  /** 404: the invoice, or its export, does not exist (spec 7); not yet, or never. */
  | { readonly outcome: 'not-exported' }
  /** 400 (or another refusal) three times running: the service cannot make a URL of this one. */
  | { readonly outcome: 'refused'; readonly message: string }
  /** 403 three times running: our client may not do this. */
  | { readonly outcome: 'forbidden'; readonly message: string };

/** A refusal is believed only when it was repeated: a service in trouble answers 400 and 403 too. */
const REFUSALS_BELIEVED_AFTER = 3;

export function regenerateUrl({ service, alerts }: BillingDependencies) {
  return ({ invoiceId }: { readonly invoiceId: string }): Promise<RegenerateUrlResult> =>
    translated(async () => {
      try {
        const ask = () => service.regenerateUrl(invoiceId, { signal: cancellationSignal() });
        const location = await alertingRefusal(alerts, ask, { provesThem: true });
        return { outcome: 'location', location };
      } catch (error) {
        if (isBillingError(error, 'not-exported')) return { outcome: 'not-exported' };
        if (activityInfo().attempt < REFUSALS_BELIEVED_AFTER) throw error;
        for (const outcome of ['refused', 'forbidden'] as const) {
          if (isBillingError(error, outcome)) return { outcome, message: error.message };
        }
        throw error;
      }
    });
}
