/**
 * Sends events to partner endpoints (spec 4.6, 6, 8): right away, 30 seconds for the answer, one retry after a
 * brief delay, then logged and not requeued. Registrations do not wait for one another: each has its own
 * connections and its own line.
 */

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Activity } from './activity.js';
import type { Faults, Moment } from './faults.js';
import { numberParam } from './faults.js';
import type { BillingEvent, Delivery, DeliveryAttempt, DeliveryState, Registration } from './model.js';
import { ReceiverPool, type Release } from './receiver-pool.js';
import { stampOf } from './stamp.js';
import type { Store } from './store.js';

export interface DeliveriesOptions {
  readonly store: Store;
  readonly faults: Faults;
  readonly activity: Activity;
  readonly now: () => Date;
  readonly retryDelayMs: number;
  readonly timeoutMs: number;
  readonly tenantWords: (tenantId: string | null) => readonly string[];
}

/** Initial attempt and one retry (spec 8). */
const ATTEMPTS = 2;
/** Finished deliveries beyond this many leave the log, oldest first. */
const KEPT_DELIVERIES = 50_000;

/** A delivery under way. */
interface Job {
  readonly delivery: Delivery;
  readonly event: BillingEvent;
  /** Of the journal, when it was queued. */
  readonly position: number;
}

/** A connection that a delivery has for one attempt. */
interface Slot {
  readonly registration: Registration;
  readonly release: Release;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #pool: ReceiverPool;
  #closing = patientController();
  /** Deliveries that are under way or scheduled. */
  #underWay = 0;
  readonly #awaitingIdle: (() => void)[] = [];
  /** Lets go of a delivery that waits for a later event of its invoice; one at a time for each line. */
  readonly #held = new Map<string, () => void>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#pool = new ReceiverPool(options.timeoutMs);
  }

  /** Newest last. */
  list(): readonly Delivery[] {
    return [...this.#options.store.all('delivery').values()];
  }

  /** Starts delivering and returns at once; `idle` tells when it is over. */
  send(event: BillingEvent, registration: Registration): Delivery {
    const delivery: Delivery = {
      deliveryId: randomUUID(),
      eventId: event.eventId,
      eventType: event.eventType,
      invoiceId: event.invoiceId,
      registrationId: registration.registrationId,
      registrationName: registration.name,
      url: registration.url,
      testEvent: event.testEvent,
      state: 'pending',
      queuedAt: stampOf(this.#options.now()),
      attempts: [],
    };
    this.#put(delivery);
    this.#trim();
    this.#start(this.#jobOf(delivery, event), registration);
    return delivery;
  }

  /** Takes up what a stop or a kill left unfinished; at least one attempt is made again. */
  resume(): void {
    for (const delivery of this.list()) {
      const event = this.#options.store.get('event', delivery.eventId);
      if (delivery.state === 'pending' && event !== undefined) {
        void this.#track(this.#deliver(this.#jobOf(delivery, event)));
      }
    }
  }

  /** Resolves when no delivery is under way or scheduled. */
  async idle(): Promise<void> {
    while (this.#underWay > 0) await new Promise<void>((resolve) => this.#awaitingIdle.push(resolve));
  }

  /** Stops what is under way or scheduled and forgets it, for a reset. */
  async abandon(): Promise<void> {
    this.#closing.abort();
    await this.#pool.close();
    await this.idle();
    this.#closing = patientController();
  }

  /** Stops at once; unfinished deliveries stay pending and are taken up by `resume` of the next start. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pool.close();
    await this.idle();
  }

  #jobOf(delivery: Delivery, event: BillingEvent): Job {
    this.#underWay += 1;
    return { delivery, event, position: this.#options.store.position };
  }

  /** Without faults nothing comes before the wait for a connection, so nothing is begun before it has one. */
  #start(job: Job, registration: Registration): void {
    if (this.#options.faults.some) {
      void this.#track(this.#deliverWithFaults(job));
    } else {
      this.#pool.whenFree(registration, (release) => {
        void this.#track(this.#deliver(job, { registration, release }));
      });
    }
  }

  /** @throws what the delivery threw, unless that is the stop's doing: a defect, which ends the process */
  async #track(delivering: Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    try {
      await delivering;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) for (const go of this.#awaitingIdle.splice(0)) go();
    }
  }

  async #deliverWithFaults(job: Job): Promise<void> {
    const { faults } = this.#options;
    const { delivery, event } = job;
    const moment = this.#moment(delivery, event);
    if (faults.strike('drop', moment) !== null) {
      this.#finish(delivery, 'dropped');
      return;
    }
    const duplicate = faults.strike('duplicate', moment);
    const reorder = faults.strike('reorder', moment);
    const delay = faults.strike('delay', moment);
    if (delay !== null) await this.#wait(numberParam(delay, 'delayMs'));
    // One that comes while another waits is the later event: it overtakes.
    if (reorder !== null && !this.#held.has(lineOf(delivery))) {
      await this.#holdForLater(lineOf(delivery), numberParam(reorder, 'delayMs'));
    }
    const copies = [this.#deliver(job)];
    for (let copy = 0; duplicate !== null && copy < numberParam(duplicate, 'times'); copy += 1) {
      copies.push(this.#deliverCopy(job, numberParam(duplicate, 'delayMs')));
    }
    await Promise.all(copies);
  }

  async #deliverCopy({ delivery, event }: Job, delayMs: number): Promise<void> {
    const copy = { ...delivery, deliveryId: randomUUID(), queuedAt: stampOf(this.#options.now()) };
    this.#put(copy);
    await this.#wait(delayMs);
    await this.#deliver({ delivery: copy, event, position: this.#options.store.position });
  }

  /** @param first the connection for the first attempt; left out, one is waited for */
  async #deliver(job: Job, first?: Slot): Promise<void> {
    const { delivery } = job;
    let slot = first;
    let current = delivery;
    const begin = Math.min(delivery.attempts.length + 1, ATTEMPTS);
    for (let number = begin; number <= ATTEMPTS; number += 1) {
      if (number > 1) await this.#wait(this.#options.retryDelayMs);
      slot ??= await this.#slotFor(delivery);
      if (slot === undefined) break;
      const attempt = await this.#attempt(number, slot, job);
      slot = undefined;
      current = { ...current, attempts: [...current.attempts, attempt] };
      const delivered = attempt.error === null;
      if (delivered || number === ATTEMPTS) return this.#finish(current, delivered ? 'delivered' : 'failed');
      this.#put(current);
    }
    this.#finish(current, 'failed');
  }

  /** Waits for a connection; there is none to a registration that was deleted. */
  async #slotFor({ registrationId }: Delivery): Promise<Slot | undefined> {
    const registration = this.#options.store.get('registration', registrationId);
    if (registration === undefined) return undefined;
    const release = await new Promise<Release>((resolve) => this.#pool.whenFree(registration, resolve));
    return { registration, release };
  }

  async #attempt(
    number: number,
    { registration, release }: Slot,
    { delivery, event, position }: Job,
  ): Promise<DeliveryAttempt> {
    const { faults, now, store } = this.#options;
    const moment = this.#moment(delivery, event);
    try {
      this.#closing.signal.throwIfAborted();
      // What a receiver hears of is in the journal: a kill cannot make it come again as another event.
      store.flush(position);
      const startedAt = stampOf(now());
      const start = performance.now();
      const result = await this.#pool.post(registration, {
        body: event.body,
        cutOff: faults.strike('cut-off-body', moment) !== null,
        reset: faults.strike('connection-reset', moment) !== null,
      });
      this.#closing.signal.throwIfAborted();
      const lost = faults.strike('execute-then-drop', moment) !== null;
      return {
        number,
        startedAt,
        durationMs: Math.round(performance.now() - start),
        ...(lost ? { status: null, error: 'The answer was lost (fault).', responseBody: '' } : result),
      };
    } finally {
      release();
    }
  }

  #finish(delivery: Delivery, state: DeliveryState): void {
    this.#options.store.putSoon('delivery', delivery.deliveryId, { ...delivery, state });
    const last = delivery.attempts.at(-1);
    const how = last === undefined ? '' : ` (${last.status ?? last.error}, attempt ${last.number})`;
    this.#options.activity.add(
      'delivery',
      `${delivery.eventType} to ${delivery.registrationName}: ${state}${how}`,
      delivery.invoiceId,
    );
    this.#held.get(lineOf(delivery))?.();
  }

  async #holdForLater(line: string, atMostMs: number): Promise<void> {
    const timer = new AbortController();
    this.#held.set(line, () => timer.abort());
    const signal = AbortSignal.any([timer.signal, this.#closing.signal]);
    await sleep(atMostMs, undefined, { signal }).catch(() => {});
    this.#held.delete(line);
    this.#closing.signal.throwIfAborted();
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.#closing.signal });
  }

  #moment(delivery: Delivery, event: BillingEvent): Moment {
    return {
      place: 'delivery',
      invoiceId: event.invoiceId,
      tenantWords: this.#options.tenantWords(event.tenantId),
      eventType: event.eventType,
      registrationId: delivery.registrationId,
    };
  }

  #put(delivery: Delivery): void {
    this.#options.store.put('delivery', delivery.deliveryId, delivery);
  }

  #trim(): void {
    const { store } = this.#options;
    const log = store.all('delivery');
    if (log.size <= KEPT_DELIVERIES) return;
    for (const [id, { state }] of log) {
      if (log.size <= KEPT_DELIVERIES) return;
      if (state !== 'pending') store.remove('delivery', id);
    }
  }
}

/** Every delivery under way listens to it; thousands are no leak. */
function patientController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** Deliveries of one invoice to one registration: only among these there is an order to upset. */
function lineOf({ invoiceId, registrationId }: Delivery): string {
  return `${registrationId} ${invoiceId}`;
}
