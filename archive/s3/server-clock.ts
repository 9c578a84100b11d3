/** The clock of the S3 server, from the `Date` of its answers: keys are stamped by it, whatever the clock of this machine shows. */

import type { S3Client } from '@aws-sdk/client-s3';
import { createServerClock, type ServerClock } from '../../lib/health/clocks.ts';

/** Follows the clock of the server that the clients ask. */
export function followServerClock(clients: readonly S3Client[]): ServerClock {
  const clock = createServerClock();
  for (const client of clients) {
    client.middlewareStack.add(
      (next) => async (args) => {
        const sentAt = performance.now();
        const result = await next(args);
        const { headers = {} } = result.response as { headers?: Record<string, string | undefined> };
        clock.answered(headers.date, sentAt);
        return result;
      },
      // Around the retries' single attempts and outside of what throws for an error's status.
      { step: 'deserialize', priority: 'low', name: 'billsyncServerClock' },
    );
  }
  return clock;
}
