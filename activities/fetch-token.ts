/** Checks at the start of work that the service lets us in; the token itself stays in this process (spec 5). */

import { cancellationSignal } from '@temporalio/activity';
import { CredentialsRefusedError } from '../billing/errors.js';
import type { BillingDependencies } from './dependencies.js';
import { translated } from './failures.js';

export interface FetchTokenResult {
  /** null with an API key, which does not expire. */
  readonly secondsLeft: number | null;
}

const ALERT_KEY = 'credentials';

/** Raises an alert while the service refuses our credentials, and takes it back once it no longer does. */
export function fetchToken({ service, alerts }: BillingDependencies) {
  return (): Promise<FetchTokenResult> =>
    translated(async () => {
      try {
        const { secondsLeft } = await service.fetchToken({ signal: cancellationSignal() });
        alerts.resolve(ALERT_KEY);
        return { secondsLeft };
      } catch (error) {
        if (error instanceof CredentialsRefusedError) {
          const detail = [error.message, error.hint].filter(Boolean).join(' ');
          alerts.raise({ key: ALERT_KEY, title: 'The billing service refuses our credentials', detail });
        }
        throw error;
      }
    });
}
