/** The clock of the billing service, as its answers show it. */

import type { ComparedClock, ServerClock } from '../lib/health/clocks.ts';
import type { Http } from './http.ts';

const ASK_LIMITS = { deadlineMs: 10_000, maxBodyBytes: 1024 * 1024 };

/** @param options.clock the one that `http` was created with */
export function serviceClock(options: {
  readonly http: Http;
  readonly clock: ServerClock;
  readonly baseUrl: string | null;
}): ComparedClock {
  const { http, clock, baseUrl } = options;
  return {
    name: 'the billing service',
    aheadMs: clock.aheadMs,
    async ask() {
      // No endpoint and no credentials: an answer of any status has a Date.
      if (baseUrl !== null) await http.send({ url: baseUrl, method: 'GET' }, ASK_LIMITS);
    },
  };
}
