/** Queues and a pace of a test's own: invoices that wait milliseconds where real ones wait hours. */

import { randomUUID } from 'node:crypto';
import type { QueueNames } from '../../worker/create-workers.ts';
import type { InvoiceRoute } from '../../workflows/client/invoice-client.ts';
import type { Pace } from '../../workflows/pace.ts';

/**
 * Patient enough to see what happens, quick enough not to wait for it. A refused file is not asked for again by itself:
 * who waits for the state in between would not see it on a busy machine.
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

/** Queues nobody else polls, and the route to them. */
export function anInvoiceRoute(pace: Partial<Pace> = {}): InvoiceRoute & { readonly queues: QueueNames } {
  const name = randomUUID();
  return {
    environment: 'test',
    queues: { billing: `${name}-billing`, warehouse: `${name}-warehouse` },
    pace: { ...QUICK_PACE, ...pace },
  };
}
