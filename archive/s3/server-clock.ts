/** The clock of the S3 server, from the `Date` of its answers: keys are stamped by it, whatever the clock of this machine shows. */

import type { S3Client } from '@aws-sdk/client-s3';

export interface ServerClock {
  /** Milliseconds since 1970 by the server's clock, as counted on from the newest answer; null before the first. */
  now(): number | null;
  /** By how many milliseconds this machine's clock was ahead of the server's at the newest answer; null before the first. */
  aheadMs(): number | null;
}

/** Follows the clock of the server that the client asks. */
export function followServerClock(clients: readonly S3Client[]): ServerClock {
  let newest: { readonly serverMs: number; readonly monotonicMs: number; readonly aheadMs: number } | null =
    null;
  for (const client of clients) {
    client.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        const { headers = {} } = result.response as { headers?: Record<string, string | undefined> };
        const serverMs = Date.parse(headers.date ?? '');
        if (!Number.isNaN(serverMs)) {
          newest = { serverMs, monotonicMs: performance.now(), aheadMs: Date.now() - serverMs };
        }
        return result;
      },
      // Around the retries' single attempts and outside of what throws for an error's status.
      { step: 'deserialize', priority: 'low', name: 'billsyncServerClock' },
    );
  }
  return {
    now: () =>
      newest === null ? null : Math.round(newest.serverMs + performance.now() - newest.monotonicMs),
    aheadMs: () => newest?.aheadMs ?? null,
  };
}
