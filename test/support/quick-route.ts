/** Queues of one test, and a pace of milliseconds instead of hours. */

import { randomUUID } from 'node:crypto';
import type { Queues } from '../../workflows/activities.ts';
import type { InvoiceRoute } from '../../workflows/client/invoice-client.ts';
import type { Pace } from '../../workflows/pace.ts';

/**
 * Long enough to observe each state, short enough for a test. A refused file is not requested again by itself, because a busy
 * machine could miss the state in between.
 */
export const QUICK_PACE: Partial<Pace> = {
  overdueAfter: ['300 ms'],
  backoffFirst: '20 ms',
  backoffMax: '80 ms',
  attentionAfter: '150 ms',
  attentionAfterMissing: '150 ms',
  repairAfter: ['1 h'],
  confirmVoidAfter: ['20 ms', '20 ms'],
  retryFirst: '5 ms',
  retryMax: '20 ms',
  retryAttempts: 3,
};

/** Queues that no other test polls, and the route to them. */
export function anInvoiceRoute(pace: Partial<Pace> = {}): InvoiceRoute & { readonly queues: Queues } {
  const name = randomUUID();
  return {
    environment: 'test',
    queues: { billing: `${name}-billing`, warehouse: `${name}-warehouse` },
    pace: { ...QUICK_PACE, ...pace },
  };
}
