/** Makes sure of a token at the start of work (spec 5): it stays in this process, and ping is not asked (spec 4.2: optional). */

import { cancellationSignal } from '@temporalio/activity';
import { alertingRefusal } from './credentials-alert.ts';
import type { BillingDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface FetchTokenResult {
  /** null with an API key, which does not expire. */
  readonly secondsLeft: number | null;
}

export function fetchToken({ service, alerts }: BillingDependencies) {
  return (): Promise<FetchTokenResult> =>
    translated(() =>
      alertingRefusal(alerts, () => service.fetchToken({ signal: cancellationSignal() }), {
        // A token at hand was not shown to anybody, and a key proves nothing until it is.
        provesThem: false,
      }),
    );
}
