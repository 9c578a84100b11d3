/**
 * Sends events to partner endpoints (spec 4.6, 6, 8): right away, 30 seconds for the answer, one retry after a
 * brief delay, then logged and not requeued. Registrations do not wait for one another: each has its own
 * connections and its own line. Once there was a burst, what no fault can strike is sent by a thread.
 */

import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Faults, type Moment, numberParam } from '../faults/faults.ts';
import type { BillingEvent, Delivery, DeliveryAttempt, DeliveryState, Registration } from '../model.ts';
import { stampOf } from '../stamp.ts';
import { DeliveryLog, type DeliveryLogOptions } from './delivery-log.ts';
import { ReceiverPool, type Release } from './receiver-pool.ts';
import type { MadeAttempt } from './sender.ts';
import { SenderThread } from './sender-thread.ts';

export interface DeliveriesOptions extends DeliveryLogOptions {
  readonly faults: Faults;
  readonly retryDelayMs: number;
  readonly timeoutMs: number;
  readonly tenantWords: (tenantId: string | null) => readonly string[];
}

/** Initial attempt and one retry (spec 8). */
const ATTEMPTS = 2;
/** When more than this many deliveries wait for the connections of one endpoint, that is a burst. */
const WAITING_IN_A_BURST = 200;
/** Bursts that come one after the other find the thread there. */
const THREAD_RESTS_MS = 30_000;

/** A delivery under way. */
interface Job {
  readonly delivery: Delivery;
  readonly event: BillingEvent;
  /** Journal position when it was queued. */
  readonly position: number;
}

/** A connection that a delivery has for one attempt. */
interface Slot {
  readonly registration: Registration;
  readonly release: Release;
}

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #log: DeliveryLog;
  readonly #detours: DeliveryDetours;
  readonly #pool: ReceiverPool;
  readonly #thread: SenderThread;
  readonly #underWay = new UnderWay();

  constructor(options: DeliveriesOptions) {
    const { store, faults, timeoutMs } = options;
    this.#options = options;
    this.#log = new DeliveryLog(options);
    this.#detours = new DeliveryDetours(faults);
    this.#pool = new ReceiverPool(timeoutMs);
    // Delivered events are in the journal, so that a restart after a kill does not send them under another id.
    const beforeSending = () => store.flush();
    this.#thread = new SenderThread({ ...options, beforeSending, restMs: THREAD_RESTS_MS });
  }

  /** Newest last. */
  list(): readonly Delivery[] {
    return this.#log.list();
  }

  /** Starts delivering and returns at once; `idle` tells when it is over. */
  send(event: BillingEvent, registration: Registration): Delivery {
    const delivery = this.#log.open(event, registration);
    this.#start(this.#jobOf(delivery, event), registration);
    return delivery;
  }

  /** Takes up what a stop or a kill left unfinished; at least one attempt is made again. */
  resume(): void {
    for (const delivery of this.list()) {
      const event = this.#options.store.get('event', delivery.eventId);
      if (delivery.state === 'pending' && event !== undefined) {
        void this.#underWay.track(this.#deliver(this.#jobOf(delivery, event)));
      }
    }
  }

  /** Resolves when no delivery is under way or scheduled. */
  idle(): Promise<void> {
    return this.#underWay.idle();
  }

  /** Stops what is under way or scheduled and forgets it, for a reset. */
  async abandon(): Promise<void> {
    await this.close();
    this.#underWay.goOn();
  }

  /** Stops at once; unfinished deliveries stay pending and are taken up by `resume` of the next start. */
  async close(): Promise<void> {
    this.#underWay.stop();
    await Promise.all([this.#pool.close(), this.#thread.close()]);
    await this.idle();
  }

  #jobOf(delivery: Delivery, event: BillingEvent): Job {
    this.#underWay.begun();
    return { delivery, event, position: this.#options.store.position };
  }

  /** Without faults nothing comes before the wait for a connection, so nothing is begun before there is one. */
  #start(job: Job, registration: Registration): void {
    if (this.#options.faults.some) {
      void this.#underWay.track(this.#deliverWithFaults(job));
    } else if (this.#thread.isUp) {
      this.#thread.post(registration, job.event.body, (made) => this.#sentByThread(job, made));
    } else {
      const waiting = this.#pool.whenFree(registration, (release) => {
        void this.#underWay.track(this.#deliver(job, { registration, release }));
      });
      if (waiting > WAITING_IN_A_BURST) this.#thread.start();
    }
  }

  /** After the first attempt; the retry, if there is one, is not the thread's. */
  #sentByThread(job: Job, made: MadeAttempt | null): void {
    if (made === null) {
      this.#underWay.ended();
      return;
    }
    const { startedAtMs, durationMs, status, error, responseBody } = made;
    const startedAt = stampOf(new Date(startedAtMs));
    const attempt = { number: 1, startedAt, durationMs, status, error, responseBody };
    if (error !== null) {
      const delivery = this.#log.attempted(job.delivery, attempt);
      void this.#underWay.track(this.#deliver({ ...job, delivery }));
      return;
    }
    this.#finish(job.delivery, 'delivered', attempt);
    this.#underWay.ended();
  }

  async #deliverWithFaults(job: Job): Promise<void> {
    const { delivery, event } = job;
    const detour = await this.#detours.take(delivery, this.#moment(delivery, event), this.#underWay.signal);
    if (detour === null) {
      this.#finish(delivery, 'dropped');
      return;
    }
    const sent = [this.#deliver(job)];
    for (let copy = 0; copy < detour.copies; copy += 1) {
      sent.push(this.#deliverCopy(job, detour.copyDelayMs));
    }
    await Promise.all(sent);
  }

  async #deliverCopy({ delivery, event }: Job, delayMs: number): Promise<void> {
    const copy = this.#log.openCopy(delivery);
    await this.#wait(delayMs);
    await this.#deliver({ delivery: copy, event, position: this.#options.store.position });
  }

  /** @param first the connection for the first attempt; left out, one is waited for */
  async #deliver(job: Job, first?: Slot): Promise<void> {
    let { delivery } = job;
    let slot = first;
    const begin = Math.min(delivery.attempts.length + 1, ATTEMPTS);
    for (let number = begin; number <= ATTEMPTS; number += 1) {
      if (number > 1) await this.#wait(this.#options.retryDelayMs);
      slot ??= await this.#slotFor(delivery);
      if (slot === undefined) break;
      const attempt = await this.#attempt(number, slot, job);
      slot = undefined;
      const delivered = attempt.error === null;
      if (delivered || number === ATTEMPTS) {
        return this.#finish(delivery, delivered ? 'delivered' : 'failed', attempt);
      }
      delivery = this.#log.attempted(delivery, attempt);
    }
    this.#finish(delivery, 'failed');
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
      this.#underWay.signal.throwIfAborted();
      // Delivered events are in the journal, so that a restart after a kill does not send them under another id.
      store.flush(position);
      const startedAt = stampOf(now());
      const start = performance.now();
      const result = await this.#pool.post(registration, {
        body: event.body,
        cutOff: faults.strike('cut-off-body', moment) !== null,
        reset: faults.strike('connection-reset', moment) !== null,
      });
      this.#underWay.signal.throwIfAborted();
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

  #finish(delivery: Delivery, state: DeliveryState, attempt?: DeliveryAttempt): void {
    this.#log.finish(delivery, state, attempt);
    this.#detours.ended(delivery);
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.#underWay.signal });
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
}

// Faults on the way of a delivery: it is dropped, delayed, doubled, or reordered.

/** How a delivery goes on: so many times more than once, each after a pause. null when it is never sent. */
export type Detour = { readonly copies: number; readonly copyDelayMs: number } | null;

export class DeliveryDetours {
  readonly #faults: Faults;
  /** Lets go of a delivery that waits for a later event of its invoice; one at a time for each line. */
  readonly #held = new Map<string, () => void>();

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** Resolves when the delivery may be sent. @throws what `signal` was aborted with */
  async take(delivery: Delivery, moment: Moment, signal: AbortSignal): Promise<Detour> {
    if (this.#faults.strike('drop', moment) !== null) return null;
    const duplicate = this.#faults.strike('duplicate', moment);
    const reorder = this.#faults.strike('reorder', moment);
    const delay = this.#faults.strike('delay', moment);
    if (delay !== null) await sleep(numberParam(delay, 'delayMs'), undefined, { signal });
    // One that comes while another waits is the later event: it overtakes.
    if (reorder !== null && !this.#held.has(lineOf(delivery))) {
      await this.#holdForLater(lineOf(delivery), numberParam(reorder, 'delayMs'), signal);
    }
    if (duplicate === null) return { copies: 0, copyDelayMs: 0 };
    return { copies: numberParam(duplicate, 'times'), copyDelayMs: numberParam(duplicate, 'delayMs') };
  }

  /** The end of a delivery lets an earlier one go that it has overtaken. */
  ended(delivery: Delivery): void {
    if (this.#held.size > 0) this.#held.get(lineOf(delivery))?.();
  }

  async #holdForLater(line: string, atMostMs: number, closing: AbortSignal): Promise<void> {
    const timer = new AbortController();
    this.#held.set(line, () => timer.abort());
    const signal = AbortSignal.any([timer.signal, closing]);
    await sleep(atMostMs, undefined, { signal }).catch(() => {});
    this.#held.delete(line);
    closing.throwIfAborted();
  }
}

/** Deliveries of one invoice to one registration: only among these there is an order to upset. */
function lineOf({ invoiceId, registrationId }: Delivery): string {
  return `${registrationId} ${invoiceId}`;
}

// Counts deliveries in progress or scheduled, so that callers can wait for them or stop them.

export class UnderWay {
  #stopping = patientController();
  #count = 0;
  readonly #awaitingIdle: (() => void)[] = [];

  /** Aborts when all of them are to stop. */
  get signal(): AbortSignal {
    return this.#stopping.signal;
  }

  stop(): void {
    this.#stopping.abort();
  }

  /** After a stop, for those to come. */
  goOn(): void {
    this.#stopping = patientController();
  }

  /** Resolves when there is none. */
  async idle(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#awaitingIdle.push(resolve));
  }

  /** To be followed by `track`, or `ended`. */
  begun(): void {
    this.#count += 1;
  }

  /** @throws what the delivery threw, unless that is the stop's doing: a defect, which ends the process */
  async track(delivering: Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await delivering;
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.ended();
    }
  }

  ended(): void {
    this.#count -= 1;
    if (this.#count === 0) for (const go of this.#awaitingIdle.splice(0)) go();
  }
}

/** Every delivery under way listens to it; thousands are no leak. */
function patientController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
