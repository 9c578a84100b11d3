/**
 * The events of a billing service under faults: duplicated, out of order, abandoned after two attempts, or never sent. It records
 * the truth that the product's data is compared with.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { deliver } from '../webhook/a-delivery.ts';
import type { ForeignInvoice, ForeignService } from './foreign-service.ts';
import type { Truth } from './invariants.ts';
import { publishedStates } from './published-data.ts';
import { createRandom } from './random.ts';

export interface TrafficOptions {
  readonly service: ForeignService;
  /** The URLs of one or more endpoints, which receive the deliveries in turn. */
  readonly webhookUrl: string | readonly string[];
  readonly invoices: number;
  readonly seed: number;
  /** Share of the finalized events that is never sent. */
  readonly dropFinalized?: number;
  readonly voided?: number;
  /** Maximum pause between two invoices of one sender. */
  readonly pauseMs?: number;
  /** Ends the traffic before its last invoice. */
  readonly isOver?: () => boolean;
  readonly maxRows?: number;
  /** By default three tenants in turn. */
  readonly tenantOf?: (number: number) => string;
  /** Rows of some invoices, instead of a random number. */
  readonly rowsOf?: (number: number) => number | undefined;
}

export interface TrafficCounts {
  readonly invoices: number;
  readonly deliveries: number;
  readonly acknowledged: number;
  readonly duplicates: number;
  /** Finalized events that were never sent, and those that the service abandoned. */
  readonly dropped: number;
  readonly abandoned: number;
  readonly voided: number;
  readonly rows: number;
}

export type Traffic = ReturnType<typeof createTraffic>;

const TENANTS = ['Nordwind', 'Südwind "GmbH", Köln', 'Ostwind'] as const;
const CURRENCIES = ['USD', 'EUR'] as const;
const SENDERS = 4;
/** The service tries twice (spec 8); an event that a person would resend is sent until it is acknowledged. */
const SERVICE_ATTEMPTS = 2;
const RESEND_FOR_MS = 120_000;

export function createTraffic(options: TrafficOptions) {
  const { service, invoices, dropFinalized = 0.2, voided = 0.2, pauseMs = 50 } = options;
  const random = createRandom(options.seed);
  const acknowledged = new Set<string>();
  const voids: string[] = [];
  const endpoints = [options.webhookUrl].flat();
  const count = { deliveries: 0, duplicates: 0, dropped: 0, abandoned: 0 };
  let next = 0;

  async function run(): Promise<void> {
    await Promise.all(Array.from({ length: SENDERS }, sender));
  }

  async function sender(): Promise<void> {
    while (next < invoices && options.isOver?.() !== true) {
      next += 1;
      const number = next;
      await playInvoice(number);
      await sleep(random.next() * pauseMs);
    }
  }

  /** The events of one invoice. The service's data changes before its event is sent. */
  async function playInvoice(number: number): Promise<void> {
    const invoice = await service.createInvoice({
      tenant: options.tenantOf?.(number) ?? TENANTS[number % TENANTS.length] ?? 'Nordwind',
      currencyCode: CURRENCIES[number % CURRENCIES.length] ?? 'USD',
      rows: options.rowsOf?.(number) ?? 1 + Math.floor(random.next() * (options.maxRows ?? 20)),
    });
    const isVoided = random.next() < voided;
    const isDropped = !isVoided && random.next() < dropFinalized;
    const isShuffled = random.next() < 0.3;
    const unsent = [...textsOf(invoice)].map((text) => () => send(text, RESEND_FOR_MS));
    if (isShuffled) await service.finalize(invoice.invoiceId);
    else {
      await unsent.pop()?.();
      await sleep(random.next() * pauseMs);
      await service.finalize(invoice.invoiceId);
    }
    const finalized = textsOf(invoice).at(-1) ?? '';
    if (isDropped) count.dropped += 1;
    else unsent.push(() => send(finalized, null));
    if (isVoided) {
      if (!isShuffled) await Promise.all(unsent.splice(0).map((sendOne) => sendOne()));
      await service.void(invoice.invoiceId);
      voids.push(invoice.invoiceId);
      const text = textsOf(invoice).at(-1) ?? '';
      unsent.push(() => send(text, RESEND_FOR_MS));
    }
    // Backwards: void before finalized before created.
    for (const sendOne of unsent.reverse()) await sendOne();
  }

  function textsOf({ invoiceId }: ForeignInvoice): readonly string[] {
    return service.events.filter((text) => text.includes(invoiceId));
  }

  /**
   * Sends one event one to three times.
   *
   * @param resendForMs how long it is sent again until it is acknowledged; null abandons it after the attempts of the service
   */
  async function send(text: string, resendForMs: number | null): Promise<void> {
    const copies = random.next() < 0.3 ? 1 + Math.ceil(random.next() * 2) : 1;
    const acknowledgements = await Promise.all(
      Array.from({ length: copies }, () => attempt(text, resendForMs)),
    );
    if (!acknowledgements.includes(true)) {
      if (resendForMs !== null)
        throw new Error(`An event was not acknowledged within ${resendForMs / 1_000} s.`);
      count.abandoned += 1;
    }
  }

  async function attempt(text: string, resendForMs: number | null): Promise<boolean> {
    const deadline = Date.now() + (resendForMs ?? 0);
    for (let tries = 1; tries <= SERVICE_ATTEMPTS || Date.now() < deadline; tries += 1) {
      const webhookUrl = endpoints[count.deliveries % endpoints.length] ?? '';
      count.deliveries += 1;
      try {
        const { statusCode, body } = await deliver(webhookUrl, text);
        if (statusCode === 200) {
          const { metadata } = JSON.parse(text) as { metadata: { eventId: string } };
          acknowledged.add(metadata.eventId);
          if (body.status === 'duplicate') count.duplicates += 1;
          return true;
        }
      } catch {
        // Refused or cut off: the endpoint is being killed.
      }
      await sleep(200);
    }
    return false;
  }

  return {
    run,
    truth: () => ({ billed: service.billedRows(), voided: voids, acknowledged: [...acknowledged] }),
    counts: () => ({
      ...{ invoices: next, ...count, acknowledged: acknowledged.size, voided: voids.length },
      rows: service.billedRows().length,
    }),
  };
}

export async function unsettled(dataDir: string, { billed, voided }: Truth): Promise<readonly string[]> {
  const expected = new Map([
    ...billed.map(({ invoiceId }) => [invoiceId, 'loaded'] as const),
    ...voided.map((invoiceId) => [invoiceId, 'voided'] as const),
  ]);
  const states = await publishedStates(dataDir);
  return [...expected]
    .filter(([invoiceId, state]) => states.get(invoiceId) !== state)
    .map(([invoiceId, state]) => `${invoiceId} is ${states.get(invoiceId) ?? 'unknown'}, not ${state}`);
}

/**
 * Waits while the number of unsettled invoices goes down, however slow the machine is.
 *
 * @throws Error with unsettled invoices, when their number did not go down for `stallMs`
 */
export async function settled(dataDir: string, truth: Truth, stallMs: number): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  let deadline = Date.now();
  for (;;) {
    const open = await unsettled(dataDir, truth);
    if (open.length === 0) return;
    if (open.length < fewest) {
      fewest = open.length;
      deadline = Date.now() + stallMs;
    }
    if (Date.now() > deadline) {
      throw new Error(
        `${open.length} are not settled, none of them for ${stallMs / 1_000} s, e.g. ${open.slice(0, 3).join('; ')}`,
      );
    }
    await sleep(200);
  }
}
