/** What befalls the invoices of the demo: each fault is one fault of real life, aimed at invoices of its own. */

import type { SandboxAccount } from '../../sandbox/service.ts';

export type Fault =
  | 'plain'
  | 'late-created'
  | 'expired-url'
  | 'wrong-hash'
  | 'cut-off-body'
  | 'overloaded'
  | 'refused-token'
  | 'missed-finalized'
  | 'void-unloaded'
  | 'void-overtakes'
  | 'void-loaded'
  | 'poisoned'
  | 'draft';

/** How many invoices have each fault; the rest are plain. */
const SHARES: readonly (readonly [Fault, number])[] = [
  ['late-created', 3],
  ['expired-url', 2],
  ['wrong-hash', 2],
  ['cut-off-body', 2],
  ['overloaded', 2],
  ['refused-token', 1],
  ['missed-finalized', 2],
  ['void-unloaded', 2],
  ['void-overtakes', 1],
  ['void-loaded', 2],
  ['poisoned', 2],
  ['draft', 1],
];

/** Fewer would leave a fault, or the plain case, without an invoice. */
export const FEWEST_INVOICES = 30;

/** Faults take turns with plain invoices, so that every tenant meets some of each. */
export function faultsOf(invoices: number): readonly Fault[] {
  const special = SHARES.flatMap(([fault, count]) => Array.from({ length: count }, () => fault));
  const faults: Fault[] = Array.from({ length: invoices }, () => 'plain');
  for (const [nth, fault] of special.entries()) faults[Math.floor((nth * invoices) / special.length)] = fault;
  return faults;
}

type Faults = SandboxAccount['faults'];

/** The event waits for the later one, not for a clock: longer than any machine takes to deliver that one. */
const OVERTAKEN = { delayMs: 300_000 };

/** Switches on what the next invoice meets when it is created: its id is not known before. */
export function arrangeCreation(faults: Faults, fault: Fault): void {
  if (fault === 'late-created')
    faults.add({ name: 'reorder', count: 1, target: { eventType: 'invoice_created' }, params: OVERTAKEN });
}

/** Switches on what one invoice is going to meet. */
const FAULTS_OF: Partial<Record<Fault, (faults: Faults, invoiceId: string, nth: number) => void>> = {
  'expired-url': (faults, invoiceId, nth) => {
    // One says so in its event, the other finds out at the storage.
    faults.add({
      name: 'expired-url',
      target: { invoiceId, endpoint: 'event' },
      params: { silent: nth % 2 === 1 },
    });
  },
  'wrong-hash': (faults, invoiceId) => {
    faults.add({ name: 'wrong-hash', target: { invoiceId, endpoint: 'event' } });
  },
  'cut-off-body': (faults, invoiceId, nth) => {
    faults.add({ name: 'cut-off-body', count: 1, target: { invoiceId }, params: { clean: nth % 2 === 1 } });
  },
  overloaded: (faults, invoiceId) => {
    faults.add({ name: 'unavailable', count: 1, target: { invoiceId, endpoint: 'storage' } });
  },
  'refused-token': (faults, invoiceId) => {
    faults.add({ name: 'expired-url', target: { invoiceId, endpoint: 'event' } });
    faults.add({ name: 'unauthorized', count: 1, target: { invoiceId, endpoint: 'regenerate' } });
  },
  'missed-finalized': (faults, invoiceId) => {
    faults.add({ name: 'drop', target: { invoiceId, eventType: 'invoice_finalized' } });
  },
  'void-overtakes': (faults, invoiceId) => {
    faults.add({
      name: 'reorder',
      target: { invoiceId, eventType: 'invoice_finalized' },
      params: OVERTAKEN,
    });
  },
  poisoned: (faults, invoiceId, nth) => {
    const kind = nth % 2 === 0 ? 'cost-exponent' : 'date-impossible';
    faults.add({ name: 'malformed-csv', count: 1, target: { invoiceId }, params: { kind } });
  },
};

export function arrangeFault(
  faults: Faults,
  invoice: { readonly invoiceId: string; readonly fault: Fault; readonly nth: number },
): void {
  FAULTS_OF[invoice.fault]?.(faults, invoice.invoiceId, invoice.nth);
}
