/** The delivery log: each delivery with its attempts and outcome (spec 8: logged and not requeued). */
import { randomUUID } from 'node:crypto';
import type { BillingEvent, Delivery, DeliveryAttempt, DeliveryState, Registration } from '../model.ts';
import { stampOf } from '../stamp.ts';
import type { Activity } from '../state/activity.ts';
import type { Store } from '../state/store.ts';

export interface DeliveryLogOptions {
  readonly store: Store;
  readonly activity: Activity;
  readonly now: () => Date;
}

/** Finished deliveries beyond this many leave the log, oldest first. */
const KEPT_DELIVERIES = 50_000;

export class DeliveryLog {
  readonly #options: DeliveryLogOptions;

  constructor(options: DeliveryLogOptions) {
    this.#options = options;
  }

  /** Newest last. */
  list(): readonly Delivery[] {
    return [...this.#options.store.all('delivery').values()];
  }

  /** A delivery that has not been attempted. */
  open(event: BillingEvent, registration: Registration): Delivery {
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
    return delivery;
  }

  /** The same delivery once more, under an id of its own. */
  openCopy(delivery: Delivery): Delivery {
    const copy = { ...delivery, deliveryId: randomUUID(), queuedAt: stampOf(this.#options.now()) };
    this.#put(copy);
    return copy;
  }

  /** Keeps an attempt after which there is another. */
  attempted(delivery: Delivery, attempt: DeliveryAttempt): Delivery {
    const next = { ...delivery, attempts: [...delivery.attempts, attempt] };
    this.#put(next);
    return next;
  }

  /** @param attempt the last one; left out, there is none that the log does not have */
  finish(before: Delivery, state: DeliveryState, attempt?: DeliveryAttempt): void {
    const attempts = attempt === undefined ? before.attempts : [...before.attempts, attempt];
    const { store, activity } = this.#options;
    store.putSoon('delivery', before.deliveryId, { ...before, state, attempts }, { state, attempts });
    const last = attempts.at(-1);
    const how = last === undefined ? '' : ` (${last.status ?? last.error}, attempt ${last.number})`;
    const message = `${before.eventType} to ${before.registrationName}: ${state}${how}`;
    activity.add('delivery', message, before.invoiceId);
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
