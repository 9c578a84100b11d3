/** Spec 4.6, 6, 8: immediately, 30 seconds for the answer, one retry after a brief delay, then logged and not requeued. */

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Core } from '../core.ts';
import { type Faults, type Moment, numberParam } from '../faults/faults.ts';
import type { BillingEvent, Delivery, DeliveryAttempt, DeliveryState, Registration } from '../model.ts';
import { type AttemptResult, Receiver } from './receiver.ts';

export type DeliveriesOptions = Core & {
  readonly faults: Faults;
  readonly tenantNames: (tenantId: string | null) => readonly string[];
};

const ATTEMPTS = 2;
/** Beyond this number, the oldest finished deliveries are removed. */
const MAX_DELIVERIES = 50_000;

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #receivers = new Map<string, Receiver>();
  readonly #inProgress = new Set<Promise<void>>();
  /** By sequence: deliveries that a fault holds until a later event of the invoice was delivered. */
  readonly #held = new Map<string, AbortController>();
  #stopping = stopController();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** The newest delivery is the last. */
  list(): readonly Delivery[] {
    return [...this.#options.store.all('delivery').values()];
  }

  /** Returns before the delivery is made; `idle` resolves when it has ended. */
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
      queuedAt: this.#options.now().toISOString(),
      attempts: [],
    };
    this.#put(delivery);
    this.#trimLog();
    this.#track(this.#deliverWithFaults(delivery, event));
    return delivery;
  }

  /** Continues unfinished deliveries; makes at least one more attempt. */
  resume(): void {
    for (const delivery of this.list()) {
      const event = this.#options.store.get('event', delivery.eventId);
      if (delivery.state === 'pending' && event !== undefined) this.#track(this.#deliver(delivery, event));
    }
  }

  async idle(): Promise<void> {
    while (this.#inProgress.size > 0) await Promise.all(this.#inProgress);
  }

  async abandon(): Promise<void> {
    await this.close();
    this.#stopping = stopController();
  }

  /** Unfinished deliveries stay pending, and `resume` of the next start continues them. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#receivers.values()].map((receiver) => receiver.close()));
    this.#receivers.clear();
    await this.idle();
  }

  /** An error that is not caused by a stop is a defect and ends the process. */
  #track(delivering: Promise<void>): void {
    const { signal } = this.#stopping;
    const settled = delivering
      .catch((error: unknown) => {
        if (!signal.aborted) throw error;
      })
      .finally(() => this.#inProgress.delete(settled));
    this.#inProgress.add(settled);
  }

  async #deliverWithFaults(delivery: Delivery, event: BillingEvent): Promise<void> {
    const { faults } = this.#options;
    const moment = this.#moment(delivery, event);
    if (faults.strike('drop', moment) !== null) return this.#finish(delivery, 'dropped');
    const duplicate = faults.strike('duplicate', moment);
    const reorder = faults.strike('reorder', moment);
    const delay = faults.strike('delay', moment);
    if (delay !== null) await this.#wait(numberParam(delay, 'delayMs'));
    if (reorder !== null) await this.#holdForLater(delivery, numberParam(reorder, 'delayMs'));
    const sent = [this.#deliver(delivery, event)];
    const copies = duplicate === null ? 0 : numberParam(duplicate, 'times');
    for (let copy = 0; copy < copies; copy += 1) {
      sent.push(
        this.#deliverCopy(delivery, event, duplicate === null ? 0 : numberParam(duplicate, 'delayMs')),
      );
    }
    await Promise.all(sent);
  }

  async #deliverCopy(delivery: Delivery, event: BillingEvent, delayMs: number): Promise<void> {
    const queuedAt = this.#options.now().toISOString();
    const copy = { ...delivery, deliveryId: randomUUID(), queuedAt };
    this.#put(copy);
    await this.#wait(delayMs);
    await this.#deliver(copy, event);
  }

  async #deliver(delivery: Delivery, event: BillingEvent): Promise<void> {
    const { store, retryDelayMs } = this.#options;
    let current = delivery;
    const first = Math.min(delivery.attempts.length + 1, ATTEMPTS);
    for (let number = first; number <= ATTEMPTS; number += 1) {
      if (number > 1) await this.#wait(retryDelayMs);
      const registration = store.get('registration', delivery.registrationId);
      if (registration === undefined) break;
      const attempt = await this.#attempt(number, registration, current, event);
      current = { ...current, attempts: [...current.attempts, attempt] };
      if (attempt.error === null) return this.#finish(current, 'delivered');
      if (number < ATTEMPTS) this.#put(current);
    }
    this.#finish(current, 'failed');
  }

  #attempt(
    number: number,
    registration: Registration,
    delivery: Delivery,
    event: BillingEvent,
  ): Promise<DeliveryAttempt> {
    const { faults, now, store } = this.#options;
    const moment = this.#moment(delivery, event);
    const receiver = this.#receiverOf(registration);
    return receiver.withConnection(async () => {
      this.#stopping.signal.throwIfAborted();
      // Delivered events are in the journal, so that a restart after a kill does not send them under another id.
      store.flush();
      const startedAt = now().toISOString();
      const start = performance.now();
      const cutOff = faults.strike('cut-off-body', moment) !== null;
      const isReset = faults.strike('connection-reset', moment) !== null;
      const result = isReset
        ? lostAttempt('The connection was reset (fault).')
        : await receiver.post(registration, event.body, cutOff);
      this.#stopping.signal.throwIfAborted();
      const isLost = faults.strike('execute-then-drop', moment) !== null;
      const durationMs = Math.round(performance.now() - start);
      return {
        number,
        startedAt,
        durationMs,
        ...(isLost ? lostAttempt('The answer was lost (fault).') : result),
      };
    });
  }

  /** An edited registration has connections of its own. */
  #receiverOf(registration: Registration): Receiver {
    const key = `${registration.registrationId} ${registration.url} ${registration.caPem ?? ''}`;
    let receiver = this.#receivers.get(key);
    if (receiver === undefined) {
      receiver = new Receiver(registration, this.#options.deliveryTimeoutMs);
      this.#receivers.set(key, receiver);
    }
    return receiver;
  }

  #finish(delivery: Delivery, state: DeliveryState): void {
    this.#put({ ...delivery, state });
    const last = delivery.attempts.at(-1);
    const outcome = last === undefined ? '' : ` (${last.status ?? last.error}, attempt ${last.number})`;
    const message = `${delivery.eventType} to ${delivery.registrationName}: ${state}${outcome}`;
    this.#options.activity.add('delivery', message, delivery.invoiceId);
    this.#held.get(sequenceOf(delivery))?.abort();
  }

  /** A delivery that arrives while another one is held is the later event, and overtakes the held one. */
  async #holdForLater(delivery: Delivery, maxMs: number): Promise<void> {
    const sequence = sequenceOf(delivery);
    if (this.#held.has(sequence)) return;
    const overtaken = new AbortController();
    this.#held.set(sequence, overtaken);
    const stopping = this.#stopping.signal;
    const signal = AbortSignal.any([overtaken.signal, stopping]);
    await sleep(maxMs, undefined, { signal }).catch(() => {});
    this.#held.delete(sequence);
    stopping.throwIfAborted();
  }

  #put(delivery: Delivery): void {
    this.#options.store.put('delivery', delivery.deliveryId, delivery);
  }

  #trimLog(): void {
    const { store } = this.#options;
    const log = store.all('delivery');
    if (log.size <= MAX_DELIVERIES) return;
    for (const [id, { state }] of log) {
      if (log.size <= MAX_DELIVERIES) return;
      if (state !== 'pending') store.remove('delivery', id);
    }
  }

  async #wait(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.#stopping.signal });
  }

  #moment(delivery: Delivery, event: BillingEvent): Moment {
    return {
      place: 'delivery',
      invoiceId: event.invoiceId,
      tenantNames: this.#options.tenantNames(event.tenantId),
      eventType: event.eventType,
      registrationId: delivery.registrationId,
    };
  }
}

function lostAttempt(error: string): AttemptResult {
  return { status: null, error, responseBody: '' };
}

/** Only deliveries of one invoice to one registration have an order that a fault can change. */
function sequenceOf({ invoiceId, registrationId }: Delivery): string {
  return `${registrationId} ${invoiceId}`;
}

/** Thousands of deliveries wait for this signal; without a higher limit of listeners, Node would warn of a leak. */
function stopController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}
