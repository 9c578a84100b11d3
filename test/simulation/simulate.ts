/**
 * One seed, one story: some invoices of a service in trouble, deliveries that are doubled, late, lost and cut off by a
 * kill, a worker that dies, a Temporal that is away or forgets a run. In the end the trouble is over, reconciliation
 * runs as it does each hour, and every invoice must be what the service's books say.
 */

import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { taskQueues } from '../../contract/names.ts';
import { createMetrics } from '../../ops/metrics.ts';
import { lookUpInvoice, retryInvoice, sendInvoiceEvent } from '../../temporal/invoice-client.ts';
import { forwardEntry } from '../../webhook/forward-entry.ts';
import { createReceiver } from '../../webhook/receive-delivery.ts';
import { exact } from '../support/invariants/exact-sums.ts';
import type { Truth } from '../support/invariants/invariants.ts';
import { type Agenda, createAgenda } from './agenda.ts';
import { createDice, type Dice } from './dice.ts';
import { PARTNER_ID, type SimulatedProduct } from './simulated-product.ts';
import { clientOf } from './virtual-client.ts';
import {
  type BookedInvoice,
  createVirtualService,
  type SentEvent,
  type VirtualService,
} from './virtual-service.ts';
import { createVirtualTemporal, type VirtualTemporal } from './virtual-temporal.ts';
import type { WorkflowSandbox } from './workflow-sandbox.ts';

export interface Story {
  readonly seed: number;
  /** What is not as the books say; empty when all is well. */
  readonly wrong: readonly string[];
  readonly truth: Truth;
  /** For a person who looks into it: what happened when. */
  readonly told: readonly string[];
  readonly replays: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.parse('2026-03-01T08:00:00Z');
/** Between two things that happen to an invoice. A correction may follow on the heels of what it corrects. */
const GAPS = [0, 200, 5 * SECOND, 10 * MINUTE, 2 * HOUR];
const SHORT_GAPS = [0, 50, 200, 1 * SECOND, 4 * SECOND, 10 * MINUTE];
const ROUTE = { environment: 'test', queues: taskQueues('test') } as const;
const log = pino({ level: 'silent' });

export async function simulate(
  seed: number,
  underTest: { readonly product: SimulatedProduct; readonly sandbox: WorkflowSandbox },
): Promise<Story> {
  return new Simulation(seed, underTest.product, underTest.sandbox).play();
}

class Simulation {
  private readonly seed: number;
  private readonly product: SimulatedProduct;
  private readonly agenda: Agenda;
  private readonly dice: Dice;
  private readonly service: VirtualService;
  private readonly temporal: VirtualTemporal;
  private readonly client: unknown;
  private readonly receiver: ReturnType<typeof createReceiver>;
  private readonly acknowledged = new Set<string>();
  private readonly heardOf = new Set<string>();
  private readonly told: string[] = [];
  private hasRestored = false;

  constructor(seed: number, product: SimulatedProduct, sandbox: WorkflowSandbox) {
    this.seed = seed;
    this.product = product;
    this.agenda = createAgenda(START);
    this.dice = createDice(seed);
    const { agenda, dice } = this;
    this.service = createVirtualService({
      ...{ agenda, dice, folder: product.dataDir, partnerId: PARTNER_ID, archive: () => product.archive },
    });
    this.temporal = createVirtualTemporal({
      ...{ agenda, dice, sandbox, activities: product.activities, client: () => this.client },
      continueAsNewAfter: dice.pick([30, 80, 4_000]),
    });
    this.client = clientOf(this.temporal);
    const { inbox, archive, quarantine, settings } = product;
    this.receiver = createReceiver({
      ...{ settings, inbox, archive, quarantine, partnerIds: () => [PARTNER_ID], log, now: agenda.now },
      metrics: createMetrics('webhook'),
    });
    product.letTo({
      ...{ now: agenda.now, service: this.service.billing },
      isOurs: (invoiceId) => this.service.invoices.has(invoiceId),
    });
  }

  async play(): Promise<Story> {
    const { dice, agenda, service, temporal } = this;
    service.trouble(dice.pick([0, 0.1, 0.4]), dice.pick([1, 6]) * HOUR);
    for (let i = dice.chance(0.3) ? 2 : 1; i > 0; i -= 1) this.planInvoice();
    if (dice.chance(0.5)) this.planRestart();
    if (dice.chance(0.3))
      agenda.add(dice.between(0, 4 * HOUR), 'world', async () =>
        temporal.goAway(dice.pick([5 * SECOND, HOUR])),
      );
    await this.until(DAY);
    // What could not be finished by itself is looked after by reconciliation, then by a person, then by it again.
    let wrong = await this.wrong();
    for (let day = 1; day <= 3 && (wrong.length > 0 || (day === 1 && dice.chance(0.2))); day += 1) {
      await this.reconcile();
      await this.until(DAY);
      await this.settleParked();
      await this.until(HOUR);
      wrong = await this.wrong();
    }
    // All over again, from the archive: what only a person told must be there, too.
    if (wrong.length === 0 && this.hasRestored) {
      this.tell('the warehouse is made again from the archive');
      await this.product.rebuild();
      wrong = await this.wrong();
    }
    const { seed, told } = this;
    return { seed, wrong, told, replays: temporal.replays(), truth: this.truth() };
  }

  /** created, then perhaps finalized, corrected, voided or said to be; each told by events that have their own faults. */
  private planInvoice(): void {
    const { dice, agenda, service } = this;
    const invoice = service.create();
    this.tell(
      `invoice ${invoice.invoiceId}${invoice.hasDetails ? '' : ' without details'}${invoice.isExportBroken ? ' with a broken export' : ''}`,
    );
    let afterMs = 0;
    const then = (gaps: readonly number[], step: () => void): void => {
      afterMs += dice.pick(gaps);
      agenda.add(afterMs, 'world', async () => step());
    };
    then(GAPS, () => this.announce(invoice, 'invoice_created', 0.15));
    if (dice.chance(0.85)) {
      then(GAPS, () => {
        service.exportAnew(invoice);
        this.announce(invoice, 'invoice_finalized', invoice.isExportBroken ? 1 : 0.3);
      });
      // Nothing but its event tells of a correction, so that one is never lost.
      if (!invoice.isExportBroken && dice.chance(0.3)) {
        then(SHORT_GAPS, () => {
          service.exportAnew(invoice);
          this.announce(invoice, 'invoice_finalized', 0);
        });
      }
    }
    if (dice.chance(0.25)) {
      then(GAPS, () => {
        invoice.status = 'voided';
        this.announce(invoice, 'invoice_voided', invoice.hasDetails ? 0.3 : 0);
      });
    } else if (invoice.hasDetails && !invoice.isExportBroken && dice.chance(0.15)) {
      // Somebody who has the webhook's password says so; the books of the service know nothing of it.
      then(GAPS, () => {
        if (invoice.status === 'finalized') this.announce(invoice, 'invoice_voided', 0);
      });
    }
  }

  /** An event is lost, or sent one to five times. Of an invoice all of whose events are lost nobody can know. */
  private announce(invoice: BookedInvoice, eventType: SentEvent['eventType'], lossRate: number): void {
    const { dice, agenda } = this;
    const event = this.service.eventOf(invoice, eventType);
    const isLost = dice.chance(lossRate);
    this.tell(`${eventType} of ${invoice.invoiceId}${isLost ? ' is lost' : ''}`);
    if (isLost) return;
    this.heardOf.add(invoice.invoiceId);
    const times = dice.chance(0.5) ? 1 : dice.between(2, 5);
    for (let i = 0; i < times; i += 1) {
      agenda.add(dice.pick([0, 0, 30, 2 * SECOND, 20 * MINUTE, 3 * HOUR]), 'world', () =>
        this.deliver(event),
      );
    }
  }

  private async deliver(event: SentEvent): Promise<void> {
    const answer = await this.receiver.receive(Buffer.from(event.body));
    await this.receiver.settle();
    if (answer.statusCode !== 200) throw new Error(`${event.eventType} was answered ${answer.statusCode}.`);
    this.acknowledged.add(event.eventId);
    if (answer.status === 'accepted') this.planForward(this.dice.between(0, 50));
  }

  /** What a forwarder does, cut off now and then at one of its durable points and begun again. */
  private planForward(afterMs: number): void {
    this.agenda.add(afterMs, 'world', async () => {
      const { inbox, archive, quarantine, settings } = this.product;
      const cutAt = this.dice.chance(0.1) ? this.dice.pick(['D4', 'D5']) : null;
      let isDone = true;
      for (const entry of await inbox.pending()) {
        try {
          await forwardEntry(entry, {
            ...{ settings, inbox, archive, quarantine, partnerIds: () => [PARTNER_ID], now: this.agenda.now },
            send: (event) => sendInvoiceEvent(this.client as never, ROUTE, event),
            durablePoint(name) {
              if (name === cutAt) throw new Error(`killed at ${name}`);
            },
          });
        } catch (error) {
          isDone = false;
          this.tell(`forwarding was cut off: ${error instanceof Error ? error.message : error}`);
        }
      }
      if (!isDone) this.planForward(this.dice.between(1, 60) * SECOND);
    });
  }

  private planRestart(): void {
    const { dice, agenda, temporal, product } = this;
    agenda.add(dice.pick([300, 3 * SECOND, HOUR, 3 * HOUR]), 'world', async () => {
      const forMs = dice.pick([100, MINUTE, HOUR]);
      this.tell(`the worker dies for ${forMs} ms`);
      agenda.restart();
      agenda.hold('worker', forMs);
      agenda.hold('server', forMs);
      await temporal.evictAll();
      // Opening costs more than all else of a story, and is a story of its own: now and then is enough.
      if (dice.chance(0.2)) await product.restart();
      const [lost] = temporal.openIds();
      if (lost !== undefined && dice.chance(0.2)) {
        this.tell(`Temporal forgets ${lost}`);
        await temporal.lose(lost);
      }
    });
  }

  /** The two activities that find and look after what nobody does; the schedule runs them with the rest. */
  private async reconcile(): Promise<void> {
    this.tell('reconciliation');
    const now = this.agenda.nowMs();
    // Other seeds live in the product, and theirs come first.
    const request = { until: new Date(now).toISOString(), limit: 1_000_000 };
    const { findOverdue, lookAfterInvoices, ingestArchive } = this.product.activities();
    const run = <T>(activity: unknown, input: unknown): Promise<T> => {
      const environment = new MockActivityEnvironment({}, { client: this.client as never });
      return environment.run(activity as (input: unknown) => Promise<T>, input);
    };
    await run(ingestArchive, undefined);
    const due = await run<{ unwatched: unknown[]; toRecheck: unknown[]; toRetry: unknown[] }>(
      findOverdue,
      request,
    );
    const { queues } = ROUTE;
    await run(lookAfterInvoices, { how: 'watch', invoices: due.unwatched, queues });
    await run(lookAfterInvoices, { how: 'recheck', invoices: due.toRecheck, queues });
    await run(lookAfterInvoices, { how: 'retry', invoices: due.toRetry, queues });
  }

  private async settleParked(): Promise<void> {
    for (const invoiceId of this.service.invoices.keys()) {
      const invoice = await this.product.warehouse().invoice(invoiceId);
      if (invoice?.state !== 'needs_attention') continue;
      if (invoice.voidWord === 'contradicted') {
        await this.restore(invoiceId);
        continue;
      }
      this.tell(`a person retries ${invoiceId}`);
      await retryInvoice(this.client as never, ROUTE, { partnerId: PARTNER_ID, invoiceId });
    }
  }

  /** A person asked the service, which says that its invoice stands. */
  private async restore(invoiceId: string): Promise<void> {
    this.tell(`a person restores ${invoiceId}`);
    this.hasRestored = true;
    const who = { by: 'ada', reason: 'the service says that it stands', isDryRun: false };
    const { outcome } = await this.product.warehouse().decide({ kind: 'restore', invoiceId, ...who });
    if (outcome !== 'done') throw new Error(`${invoiceId} could not be restored: ${outcome}`);
    const address = { partnerId: PARTNER_ID, invoiceId };
    await lookUpInvoice(this.client as never, ROUTE, address, { cause: 'person' });
  }

  private async until(afterMs: number): Promise<void> {
    const limit = this.agenda.nowMs() + afterMs;
    for (let steps = 0; await this.agenda.step(limit); steps += 1) {
      if (steps > 3_000) throw new Error(`Seed ${this.seed} does not come to rest.`);
    }
  }

  private async wrong(): Promise<readonly string[]> {
    const wrong: string[] = [...this.temporal.warnings()];
    for (const invoice of this.service.invoices.values()) {
      if (!this.heardOf.has(invoice.invoiceId)) continue;
      const found = await this.product.warehouse().invoice(invoice.invoiceId);
      const should = this.shouldBe(invoice);
      const is =
        `${found?.state} ${found?.state === 'loaded' ? `${found.shipments} rows ${exact(found.billingCost ?? '0')}` : ''}`.trim();
      if (is !== should)
        wrong.push(`${invoice.invoiceId} is ${is}, the books say ${should}: ${found?.reason ?? ''}`);
    }
    const waiting = await this.product.inbox.pending();
    if (waiting.length > 0) wrong.push(`${waiting.length} deliveries still wait`);
    return wrong;
  }

  private shouldBe(invoice: BookedInvoice): string {
    if (invoice.status !== 'finalized') return invoice.status;
    const costs = this.service.rowsOf(invoice).map(exact);
    return `loaded ${costs.length} rows ${costs.reduce((sum, cost) => sum + cost, 0n)}`;
  }

  private truth(): Truth {
    const heard = [...this.service.invoices.values()].filter(({ invoiceId }) => this.heardOf.has(invoiceId));
    const billed = heard
      .filter(({ status }) => status === 'finalized')
      .flatMap((invoice) =>
        this.service.rowsOf(invoice).map((billingCost) => ({
          ...{
            invoiceId: invoice.invoiceId,
            tenant: invoice.tenant,
            carrier: 'UPS',
            currencyCode: 'USD',
            billingCost,
          },
        })),
      );
    const voided = heard.filter(({ status }) => status === 'voided').map(({ invoiceId }) => invoiceId);
    return { billed, voided, acknowledged: [...this.acknowledged] };
  }

  private tell(what: string): void {
    this.told.push(`${this.agenda.now().toISOString()} ${what}`);
  }
}
