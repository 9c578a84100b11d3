/**
 * What a billing service does to an endpoint on bad days: events doubled, out of order, given up after two attempts,
 * or never sent at all. It keeps the books that everything is measured by afterwards.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { deliver } from '../webhook/a-delivery.ts';
import type { ForeignInvoice, ForeignService } from './foreign-service.ts';
import type { Truth } from './invariants.ts';
import { publishedStates } from './published-data.ts';

export interface StoryOptions {
  readonly service: ForeignService;
  /** Of one or more endpoints, which receive the deliveries in turn. */
  readonly webhookUrl: string | readonly string[];
  readonly invoices: number;
  readonly seed: number;
  /** Part of the finalized events that is never sent. */
  readonly dropFinalized?: number;
  /** Part of the invoices that is voided. */
  readonly voided?: number;
  /** Between two invoices of one sender, at most. */
  readonly pauseMs?: number;
  readonly senders?: number;
  /** Part of the invoices that may be told by now, 0 to 1: so that a story lasts as long as what is done to its hearer. */
  readonly partAllowed?: () => number;
  /** Ends the story before its last invoice. */
  readonly isOver?: () => boolean;
  readonly rowsAtMost?: number;
  /** By default three tenants in turn. */
  readonly tenantOf?: (number: number) => string;
  /** Rows of some invoices, instead of a random number. */
  readonly rowsOf?: (number: number) => number | undefined;
}

export interface StoryFigures {
  readonly invoices: number;
  readonly deliveries: number;
  readonly acknowledged: number;
  readonly duplicates: number;
  /** Finalized events that were never sent, and those the service gave up on. */
  readonly dropped: number;
  readonly givenUp: number;
  readonly voided: number;
  readonly rows: number;
}

export interface Story {
  /** Resolves when everything was said that will be said. */
  tell(): Promise<void>;
  /** As the service's books stand now. */
  truth(): Truth;
  figures(): StoryFigures;
}

const TENANTS = ['Nordwind', 'Südwind "GmbH", Köln', 'Ostwind'] as const;
const CURRENCIES = ['USD', 'EUR'] as const;
/** The service tries twice (spec 8); what a person would send again from the application is tried until it is heard. */
const SERVICE_ATTEMPTS = 2;
const PATIENCE_MS = 120_000;

export function createStory(options: StoryOptions): Story {
  const { service, invoices, dropFinalized = 0.2, voided = 0.2, pauseMs = 50 } = options;
  const random = createRandom(options.seed);
  const acknowledged = new Set<string>();
  const voids: string[] = [];
  const endpoints = [options.webhookUrl].flat();
  const count = { deliveries: 0, duplicates: 0, dropped: 0, givenUp: 0 };
  let next = 0;

  async function tell(): Promise<void> {
    await Promise.all(Array.from({ length: options.senders ?? 4 }, sender));
  }

  async function sender(): Promise<void> {
    while (next < invoices && options.isOver?.() !== true) {
      next += 1;
      const number = next;
      while (number > Math.ceil((options.partAllowed?.() ?? 1) * invoices)) await sleep(20);
      await live(number);
      await sleep(random() * pauseMs);
    }
  }

  /** One invoice from its creation to its fault. The service's truth changes first, what it says of it comes later. */
  async function live(number: number): Promise<void> {
    const invoice = await service.createInvoice({
      tenant: options.tenantOf?.(number) ?? TENANTS[number % TENANTS.length] ?? 'Nordwind',
      currencyCode: CURRENCIES[number % CURRENCIES.length] ?? 'USD',
      rows: options.rowsOf?.(number) ?? 1 + Math.floor(random() * (options.rowsAtMost ?? 20)),
    });
    const isVoided = random() < voided;
    const isDropped = !isVoided && random() < dropFinalized;
    const isShuffled = random() < 0.3;
    const said = [...textsOf(invoice)].map((text) => () => say(text, PATIENCE_MS));
    if (isShuffled) await service.finalize(invoice.invoiceId);
    else {
      await said.pop()?.();
      await sleep(random() * pauseMs);
      await service.finalize(invoice.invoiceId);
    }
    const finalized = textsOf(invoice).at(-1) ?? '';
    if (isDropped) count.dropped += 1;
    else said.push(() => say(finalized, null));
    if (isVoided) {
      if (!isShuffled) await Promise.all(said.splice(0).map((speak) => speak()));
      await service.void(invoice.invoiceId);
      voids.push(invoice.invoiceId);
      const text = textsOf(invoice).at(-1) ?? '';
      said.push(() => say(text, PATIENCE_MS));
    }
    // Backwards: void before finalized before created.
    for (const speak of said.reverse()) await speak();
  }

  function textsOf({ invoiceId }: ForeignInvoice): readonly string[] {
    return service.events.filter((text) => text.includes(invoiceId));
  }

  /** One event, one to three times; with patience it is repeated until it was heard, else given up as the service does. */
  async function say(text: string, patienceMs: number | null): Promise<void> {
    const copies = random() < 0.3 ? 1 + Math.ceil(random() * 2) : 1;
    const heard = await Promise.all(Array.from({ length: copies }, () => attempt(text, patienceMs)));
    if (!heard.includes(true)) {
      if (patienceMs !== null) throw new Error(`Nobody took an event within ${patienceMs / 1_000} s.`);
      count.givenUp += 1;
    }
  }

  async function attempt(text: string, patienceMs: number | null): Promise<boolean> {
    const deadline = Date.now() + (patienceMs ?? 0);
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
    tell,
    truth: () => ({ billed: service.billedRows(), voided: voids, acknowledged: [...acknowledged] }),
    figures: () => ({
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
 * Waits as long as fewer and fewer are left: how fast that goes is the machine's affair.
 *
 * @throws Error what is not settled, when so long none of them was
 */
export async function settled(dataDir: string, truth: Truth, stillMs: number): Promise<void> {
  let fewest = Number.POSITIVE_INFINITY;
  let deadline = Date.now();
  for (;;) {
    const open = await unsettled(dataDir, truth);
    if (open.length === 0) return;
    if (open.length < fewest) {
      fewest = open.length;
      deadline = Date.now() + stillMs;
    }
    if (Date.now() > deadline) {
      throw new Error(
        `${open.length} are not settled, none of them for ${stillMs / 1_000} s, e.g. ${open.slice(0, 3).join('; ')}`,
      );
    }
    await sleep(200);
  }
}

/** mulberry32: the same seed tells the same story; when a kill falls into it is up to the machine. */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
