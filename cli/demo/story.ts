import { setTimeout as sleep } from 'node:timers/promises';
import type { QuarantinedItem } from '../../lib/quarantine.ts';
import type { Sandbox, SandboxAccount } from '../../sandbox/service.ts';
import { CliError, EXIT } from '../errors.ts';
import type { Progress } from '../terminal/output.ts';

export interface PlayedInvoice {
  readonly invoiceId: string;
  readonly invoiceNumber: string;
  readonly fault: Fault;
}

const POLL_MS = 250;

export type States = () => Promise<ReadonlyMap<string, string>>;

export interface DemoContext {
  readonly sandbox: Sandbox;
  readonly registrationId: string;
  readonly states: States;
  readonly quarantined: () => Promise<readonly QuarantinedItem[]>;
  readonly retry: (invoiceId: string) => Promise<void>;
  readonly progress: (what: string) => Progress;
  readonly patienceMs: number;
  readonly stopping: AbortSignal;
}

export interface Story {
  readonly invoices: readonly PlayedInvoice[];
  readonly partnerInvoice: PlayedInvoice;
  readonly refused: readonly QuarantinedItem[];
}

export async function playStory(
  context: DemoContext,
  options: { readonly invoices: number },
): Promise<Story> {
  const { sandbox } = context;
  sandbox.faults.add({ name: 'duplicate', rate: 0.3, params: { times: 2, delayMs: 150 } });
  await sandbox.testEvent(context.registrationId);

  const played: PlayedInvoice[] = [];
  const billing = context.progress('Billing');
  for (const [index, fault] of faultsOf(options.invoices).entries()) {
    context.stopping.throwIfAborted();
    played.push(await billInvoice(context, fault, played, index));
    billing.update(played.length, options.invoices, 'invoices');
  }
  billing.end();
  await waitUntilSettled(
    context,
    played.filter(({ fault }) => fault !== 'missed-finalized'),
    expectedAtFirst,
  );

  const refused = await refusedFiles(
    context,
    played.filter(({ fault }) => fault === 'poisoned'),
  );

  sandbox.revokeTokens();
  for (const { fault, invoiceId } of played) {
    if (fault === 'void-loaded') sandbox.cancel(invoiceId);
    if (fault === 'poisoned') {
      await sandbox.repair(invoiceId);
      await context.retry(invoiceId);
    }
  }
  const partnerInvoice = await billPartner(context, played);
  await waitUntilSettled(context, [...played, partnerInvoice], expectedAtLast);
  await sandbox.idle();
  return { invoices: played, partnerInvoice, refused };
}

async function billInvoice(
  { sandbox }: DemoContext,
  fault: Fault,
  before: readonly PlayedInvoice[],
  index: number,
): Promise<PlayedInvoice> {
  if (fault === 'late-created')
    sandbox.faults.add({
      ...{ name: 'reorder', count: 1, target: { eventType: 'invoice_created' }, params: OVERTAKEN },
    });
  const { invoiceId, invoiceNumber } = await sandbox.createInvoice({ shipments: 12 + ((index * 7) % 29) });
  const nth = before.filter((other) => other.fault === fault).length;
  if (fault !== 'plain') PLANS[fault].arrange?.(sandbox.faults, invoiceId, nth);
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

async function refusedFiles(
  context: DemoContext,
  poisoned: readonly PlayedInvoice[],
): Promise<readonly QuarantinedItem[]> {
  return waitWhileChanging(context, async () => {
    const items = (await context.quarantined()).filter(({ findingCount }) => findingCount > 0);
    const open = poisoned.filter(({ invoiceId }) => !items.some((item) => item.invoiceId === invoiceId));
    return { answer: items, open: open.map(({ invoiceNumber }) => `${invoiceNumber} is not in quarantine`) };
  });
}

async function waitUntilSettled(
  context: DemoContext,
  invoices: readonly PlayedInvoice[],
  expected: (fault: Fault) => string,
): Promise<void> {
  const progress = context.progress('Settling');
  await waitWhileChanging(context, async () => {
    const now = await context.states();
    const open = invoices.filter(({ invoiceId, fault }) => now.get(invoiceId) !== expected(fault));
    progress.update(invoices.length - open.length, invoices.length, 'invoices');
    const messages = open.map(
      ({ invoiceId, invoiceNumber, fault }) =>
        `${invoiceNumber} (${fault}) is ${now.get(invoiceId) ?? 'unknown'}`,
    );
    return { answer: undefined, open: messages };
  }).finally(() => progress.end());
}

/** Waits as long as something changes, since a slow machine may take any time. @throws CliError (exit 1) */
export async function waitWhileChanging<T>(
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
    await sleep(POLL_MS, undefined, { signal: stopping });
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

type Faults = SandboxAccount['faults'];

/**
 * The limit is longer than any machine takes to deliver the later event, so the held event waits for that one and not for a clock.
 */
const OVERTAKEN = { delayMs: 300_000 };

interface FaultPlan {
  readonly count: number;
  readonly arrange?: (faults: Faults, invoiceId: string, nth: number) => void;
}

const PLANS: Readonly<Record<Exclude<Fault, 'plain'>, FaultPlan>> = {
  'late-created': { count: 3 },
  'expired-url': {
    count: 2,
    arrange(faults, invoiceId, nth) {
      const params = { silent: nth % 2 === 1 };
      faults.add({ name: 'expired-url', target: { invoiceId, endpoint: 'event' }, params });
    },
  },
  'wrong-hash': {
    count: 2,
    arrange(faults, invoiceId) {
      faults.add({ name: 'wrong-hash', target: { invoiceId, endpoint: 'event' } });
    },
  },
  'cut-off-body': {
    count: 2,
    arrange(faults, invoiceId, nth) {
      faults.add({ name: 'cut-off-body', count: 1, target: { invoiceId }, params: { clean: nth % 2 === 1 } });
    },
  },
  overloaded: {
    count: 2,
    arrange(faults, invoiceId) {
      faults.add({ name: 'unavailable', count: 1, target: { invoiceId, endpoint: 'storage' } });
    },
  },
  'refused-token': {
    count: 1,
    arrange(faults, invoiceId) {
      faults.add({ name: 'expired-url', target: { invoiceId, endpoint: 'event' } });
      faults.add({ name: 'unauthorized', count: 1, target: { invoiceId, endpoint: 'regenerate' } });
    },
  },
  'missed-finalized': {
    count: 2,
    arrange(faults, invoiceId) {
      faults.add({ name: 'drop', target: { invoiceId, eventType: 'invoice_finalized' } });
    },
  },
  'void-unloaded': { count: 2 },
  'void-overtakes': {
    count: 1,
    arrange(faults, invoiceId) {
      const target = { invoiceId, eventType: 'invoice_finalized' } as const;
      faults.add({ name: 'reorder', target, params: OVERTAKEN });
    },
  },
  'void-loaded': { count: 2 },
  poisoned: {
    count: 2,
    arrange(faults, invoiceId, nth) {
      const kind = nth % 2 === 0 ? 'cost-exponent' : 'date-impossible';
      faults.add({ name: 'malformed-csv', count: 1, target: { invoiceId }, params: { kind } });
    },
  },
  draft: { count: 1 },
};

/** With fewer invoices, a fault or the plain case would be left without an invoice. */
export const MIN_INVOICES = 30;

function faultsOf(invoices: number): readonly Fault[] {
  const special = Object.entries(PLANS).flatMap(([fault, { count }]) =>
    Array<Fault>(count).fill(fault as Fault),
  );
  const faults = Array<Fault>(invoices).fill('plain');
  for (const [nth, fault] of special.entries()) faults[Math.floor((nth * invoices) / special.length)] = fault;
  return faults;
}
