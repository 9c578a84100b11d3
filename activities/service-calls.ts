/** Token, details and URL: one call of the billing service each. */

import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { BillingError, isBillingError } from '../billing/errors.ts';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { serviceError } from '../lib/wire/service-errors.ts';
import type { BillingActivities } from '../workflows/activities.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translateErrors } from './failures.ts';

/** A service in trouble answers 400 and 403 too, so a refusal counts only when it is repeated. */
const MIN_REFUSALS = 3;

export function createServiceActivities({
  service,
  alerts,
}: Pick<BillingDependencies, 'service' | 'alerts'>): Pick<
  BillingActivities,
  'fetchToken' | 'lookUpInvoice' | 'regenerateUrl'
> {
  return {
    // Ping is not called (spec 4.2: optional). A cached token, or an API key, proves nothing.
    fetchToken: () =>
      translateErrors(() =>
        alertRefusedCredentials(alerts, () => service.fetchToken({ signal: cancellationSignal() }), {
          isProof: false,
        }),
      ),

    lookUpInvoice: ({ invoiceId }) =>
      translateErrors(async () => {
        try {
          const lookUp = () => service.lookUpInvoice(invoiceId, { signal: cancellationSignal() });
          const details = await alertRefusedCredentials(alerts, lookUp);
          alerts.resolve(DETAILS_ALERT);
          return { outcome: 'found', ...details };
        } catch (error) {
          if (isBillingError(error, 'unknown-invoice')) return { outcome: 'not-found' };
          if (error instanceof BillingError) alertUnreadableDetails(alerts, error);
          throw error;
        }
      }),

    regenerateUrl: ({ invoiceId }) =>
      translateErrors(async () => {
        try {
          const regenerate = () => service.regenerateUrl(invoiceId, { signal: cancellationSignal() });
          const location = await alertRefusedCredentials(alerts, regenerate);
          return { outcome: 'location', location };
        } catch (error) {
          if (isBillingError(error, 'not-exported')) return { outcome: 'not-exported' };
          if (activityInfo().attempt < MIN_REFUSALS) throw error;
          for (const outcome of ['refused', 'forbidden'] as const) {
            if (isBillingError(error, outcome)) return { outcome, message: error.message };
          }
          throw error;
        }
      }),
  };
}

/** @param options.isProof whether a successful call proves the credentials, and resolves the alert */
export async function alertRefusedCredentials<T>(
  alerts: Alerts,
  call: () => Promise<T>,
  { isProof }: { readonly isProof: boolean } = { isProof: true },
): Promise<T> {
  try {
    const answer = await call();
    if (isProof) alerts.resolve('credentials');
    return answer;
  } catch (error) {
    if (isBillingError(error, 'credentials-refused')) {
      const detail = [error.message, error.hint].filter(Boolean).join(' ');
      alerts.raise({ key: 'credentials', title: 'The billing service refuses our credentials', detail });
    }
    throw error;
  }
}

const DETAILS_ALERT = 'service/details';

/** Invoices are still loaded then, so nothing else shows that voids would go unnoticed. */
function alertUnreadableDetails(alerts: Alerts, { code, message }: BillingError): void {
  const { reaction, scope } = serviceError(code) ?? { reaction: 'retry', scope: 'service' };
  if (reaction === 'retry' || scope === 'service') return;
  alerts.raise({
    key: DETAILS_ALERT,
    title: 'The details of invoices cannot be read',
    detail: `${message} Invoices are loaded all the same; a void whose event was lost is not found meanwhile.`,
  });
}
