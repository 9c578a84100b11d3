/** Plays the demo: bills invoices at the sandbox, lets things go wrong, and waits until billsync has settled them all. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { QuarantinedItem } from '../../lib/wire/quarantine.ts';
import type { Sandbox, SandboxAccount } from '../../sandbox/service.ts';
import { CliError, EXIT } from '../errors.ts';

export interface PlayedInvoice {
  readonly invoiceId: string;
  readonly invoiceNumber: string;
  readonly fault: Fault;
}

/** The published state of each invoice. */
export type States = () => Promise<ReadonlyMap<string, string>>;

export interface DemoContext {
  readonly sandbox: Sandbox;
  readonly registrationId: string;
  readonly states: States;
  /** Items in quarantine; they leave it when a corrected file is loaded. */
  readonly quarantined: () => Promise<readonly QuarantinedItem[]>;
  /** Retries an invoice that needs attention. */
  readonly retry: (invoiceId: string) => Promise<void>;
  readonly progress: (text: string) => void;
  /** How long nothing may change before the waiting is given up. */
  readonly patienceMs: number;
  /** Aborts when the demo is stopped. */
  readonly stopping: AbortSignal;
}

export interface Story {
  readonly invoices: readonly PlayedInvoice[];
  readonly partnerInvoice: PlayedInvoice;
  /** Refused files, as they were in quarantine. */
  readonly refused: readonly QuarantinedItem[];
}

/** @throws CliError (exit 1) naming the invoices that do not settle */
export async function playStory(
  context: DemoContext,
  options: { readonly invoices: number },
): Promise<Story> {
  const { sandbox, progress } = context;
  sandbox.faults.add({ name: 'duplicate', rate: 0.3, params: { times: 2, delayMs: 150 } });
  await sandbox.testEvent(context.registrationId);

  const played: PlayedInvoice[] = [];
  for (const [index, fault] of faultsOf(options.invoices).entries()) {
    context.stopping.throwIfAborted();
    played.push(await bill(context, fault, played, index));
    progress(`billed ${played.length} of ${options.invoices} invoices`);
  }
  await settle(
    context,
    played.filter(({ fault }) => fault !== 'missed-finalized'),
    expectedAtFirst,
  );

  const refused = await refusedFiles(
    context,
    played.filter(({ fault }) => fault === 'poisoned'),
  );

  // Every token that was given out is dead from here on: the next call is refused and needs a new one.
  sandbox.revokeTokens();
  progress('tokens revoked; voiding what is loaded, mending what is broken');
  for (const { fault, invoiceId } of played) {
    if (fault === 'void-loaded') sandbox.cancel(invoiceId);
    if (fault === 'poisoned') {
      await sandbox.repair(invoiceId);
      await context.retry(invoiceId);
    }
  }
  const partnerInvoice = await billPartner(context, played);
  await settle(context, [...played, partnerInvoice], expectedAtLast);
  await sandbox.idle();
  return { invoices: played, partnerInvoice, refused };
}

async function bill(
  { sandbox }: DemoContext,
  fault: Fault,
  before: readonly PlayedInvoice[],
  index: number,
): Promise<PlayedInvoice> {
  arrangeCreation(sandbox.faults, fault);
  const { invoiceId, invoiceNumber } = await sandbox.createInvoice({ shipments: 12 + ((index * 7) % 29) });
  arrangeFault(sandbox.faults, {
    invoiceId,
    fault,
    nth: before.filter((other) => other.fault === fault).length,
  });
  if (fault === 'void-unloaded') sandbox.cancel(invoiceId);
  else if (fault !== 'draft') await sandbox.finalize(invoiceId);
  if (fault === 'void-overtakes') sandbox.cancel(invoiceId);
  return { invoiceId, invoiceNumber, fault };
}

/** A partner-level invoice sums shipments that the tenants' invoices have too; reports must not add both. */
async function billPartner(
  { sandbox }: DemoContext,
  played: readonly PlayedInvoice[],
): Promise<PlayedInvoice> {
  const usd = (id: string): boolean => sandbox.invoice(id).currencyCode === 'USD';
  const sources = played.filter(({ fault, invoiceId }) => fault === 'plain' && usd(invoiceId)).slice(0, 4);
  const { invoiceId, invoiceNumber } = await sandbox.createInvoice({
    partnerLevel: true,
    sources: sources.map((source) => source.invoiceId),
  });
  await sandbox.finalize(invoiceId);
  return { invoiceId, invoiceNumber, fault: 'plain' };
}

function expectedAtFirst(fault: Fault): string {
  if (fault === 'poisoned') return 'needs_attention';
  if (fault === 'void-loaded') return 'loaded';
  return expectedAtLast(fault);
}

export function expectedAtLast(fault: Fault): string {
  if (fault === 'draft') return 'draft';
  return fault.startsWith('void') ? 'voided' : 'loaded';
}

/** The state of an invoice can be published a moment before its file lies in quarantine. */
async function refusedFiles(
  context: DemoContext,
  poisoned: readonly PlayedInvoice[],
): Promise<readonly QuarantinedItem[]> {
  return settled(context, async () => {
    const things = (await context.quarantined()).filter(({ findingCount }) => findingCount > 0);
    const open = poisoned.filter(({ invoiceId }) => !things.some((thing) => thing.invoiceId === invoiceId));
    return { answer: things, open: open.map(({ invoiceNumber }) => `${invoiceNumber} is not in quarantine`) };
  });
}

async function settle(
  context: DemoContext,
  invoices: readonly PlayedInvoice[],
  expected: (fault: Fault) => string,
): Promise<void> {
  await settled(context, async () => {
    const now = await context.states();
    const open = invoices.filter(({ invoiceId, fault }) => now.get(invoiceId) !== expected(fault));
    context.progress(`settled ${invoices.length - open.length} of ${invoices.length} invoices`);
    const messages = open.map(
      ({ invoiceId, invoiceNumber, fault }) =>
        `${invoiceNumber} (${fault}) is ${now.get(invoiceId) ?? 'unknown'}`,
    );
    return { answer: undefined, open: messages };
  });
}

/**
 * Asks until nothing is open. A slow machine gets all the time it needs as long as something changes.
 *
 * @throws CliError (exit 1) naming what is still open
 */
export async function settled<T>(
  { patienceMs, stopping }: Pick<DemoContext, 'patienceMs' | 'stopping'>,
  check: () => Promise<{ readonly answer: T; readonly open: readonly string[] }>,
): Promise<T> {
  let before = '';
  let changedAt = performance.now();
  for (;;) {
    const { answer, open } = await check();
    if (open.length === 0) return answer;
    const now = open.join('; ');
    if (now !== before) changedAt = performance.now();
    before = now;
    if (performance.now() - changedAt > patienceMs) {
      throw new CliError(EXIT.checkFailed, `nothing changed for ${Math.round(patienceMs / 1000)} seconds`, {
        subject: now,
        hint: 'LOG_LEVEL=info billsync demo shows the log',
      });
    }
    await sleep(250, undefined, { signal: stopping });
  }
}

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
export const MIN_INVOICES = 30;

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
    // The first event shows the expiry; the second URL fails at the storage.
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
