/** Tells people while the service refuses our credentials, whichever call it was that found out. */

import { isBillingError } from '../billing/errors.ts';
import type { BillingDependencies } from './dependencies.ts';

const ALERT_KEY = 'credentials';

type Alerts = Pick<BillingDependencies, 'alerts'>['alerts'];

/** Runs `call`. A refusal raises the alert; only an answer that our credentials were needed for takes it back. */
export async function alertingRefusal<T>(
  alerts: Alerts,
  call: () => Promise<T>,
  { provesThem }: { readonly provesThem: boolean },
): Promise<T> {
  try {
    const answer = await call();
    if (provesThem) alerts.resolve(ALERT_KEY);
    return answer;
  } catch (error) {
    if (isBillingError(error, 'credentials-refused')) {
      const detail = [error.message, error.hint].filter(Boolean).join(' ');
      alerts.raise({ key: ALERT_KEY, title: 'The billing service refuses our credentials', detail });
    }
    throw error;
  }
}
