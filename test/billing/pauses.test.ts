/** How long a host is left alone, after any sequence of answers (ADR 10). */

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPauses } from '../../billing/http.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const PATHS = {
  ...{ a: '/api/v1/billing/invoices/a', 'a again': '/api/v1/billing/invoices/a/export-csv' },
  ...{ b: '/api/v1/billing/invoices/b', file: '/bucket/file.csv', c: '/api/v1/billing/invoices/c' },
  ...{ token: '/oauth/token', ping: '/api/v1/deliveryexperience/ping' },
};
const path = fc.constantFrom(...Object.values(PATHS));
const step = fc.record({
  ...{ path, host: fc.constantFrom('one', 'one', 'other'), after: fc.constantFrom(0, 500, 1_000, 4_000) },
  status: fc.constantFrom(429, 429, 503, 200, 404),
  retryAfter: fc.constantFrom(undefined, '0', '1', '5', '5', '99999999'),
});
/** A call about an invoice, a file, or the service as a whole. */
const subjectOf = (of: string): string => {
  const service = of === PATHS.token || of === PATHS.ping;
  return service ? '' : (/invoices\/(\w)/.exec(of)?.[1] ?? of);
};

test('is stated by the last refusal with a time, of its invoice or of the service; three refused in a row are the host', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 9 }), (steps) => {
      const pauses = createPauses();
      const until = new Map<string, number>();
      const inARow = new Map<string, Set<string>>();
      for (const { path: of, host, after, status, retryAfter } of steps) {
        vi.advanceTimersByTime(after);
        pauses.answered({ host, path: of }, status, retryAfter);
        const key = `${host} ${subjectOf(of)}`;
        const isRefusal = status === 429 || status === 503;
        if (!isRefusal) inARow.delete(host);
        if (isRefusal && Number(retryAfter ?? 0) > 0) {
          until.set(key, performance.now() + 1_000 * Math.min(300, Number(retryAfter)));
          inARow.set(host, (inARow.get(host) ?? new Set()).add(key));
        }
        for (const each of Object.values(PATHS)) {
          const left = (name: string) => Math.max(0, (until.get(name) ?? 0) - performance.now());
          const own = left(`${host} ${subjectOf(each)}`) || left(`${host} `);
          const pause = pauses.of({ host, path: each });
          const found = pause === null ? 0 : Math.max(0, pause.untilMs - performance.now());
          const refused = [...(inARow.get(host) ?? [])];
          if (own > 0) expect(found).toBe(own);
          else if (refused.length < 3) expect(found).toBe(0);
          // The first that is over may be tried, and tells whether the host still refuses.
          else if (refused.every((name) => left(name) > 0))
            expect(found).toBe(Math.min(...refused.map(left)));
        }
      }
    }),
    { numRuns: 500 },
  );
});
