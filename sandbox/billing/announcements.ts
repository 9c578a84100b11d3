/** Creates events: of changes to an invoice, resent ones, and test events (spec 2.3, 6). */

import type { Deliveries } from '../delivery/deliveries.ts';
import { buildEvent, type EventParts, ofUnknownType, strikeTotals } from '../delivery/events.ts';
import type { Registrations } from '../delivery/registrations.ts';
import type { Faults } from '../faults/faults.ts';
import {
  type BillingEvent,
  type Delivery,
  type Environment,
  EVENTS,
  type EventType,
  type Invoice,
  type Partner,
} from '../model.ts';
import { uuidFrom } from '../randomness.ts';
import { RefusalError } from '../refusal.ts';
import type { Activity } from '../state/activity.ts';
import type { Store } from '../state/store.ts';
import type { Exports } from './exports.ts';
import type { InvoiceBook } from './invoice-book.ts';

export interface AnnouncementsOptions {
  readonly store: Store;
  readonly faults: Faults;
  readonly seed: number;
  readonly environment: Environment;
  readonly now: () => Date;
  readonly activity: Activity;
  readonly deliveries: Deliveries;
  readonly registrations: Registrations;
  readonly partner: Partner;
  readonly wirePrefix: string;
}

export class Announcements {
  readonly #options: AnnouncementsOptions;
  readonly #exports: Exports;
  readonly #book: InvoiceBook;

  constructor(
    options: AnnouncementsOptions,
    { exports, book }: { readonly exports: Exports; readonly book: InvoiceBook },
  ) {
    this.#options = options;
    this.#exports = exports;
    this.#book = book;
  }

  /** Sends a change of an invoice to all subscribed webhooks. */
  emit(eventType: EventType, current: Invoice): void {
    const { store, faults, activity, registrations, deliveries } = this.#options;
    const moment = this.#book.moment('event', current, eventType);
    const stated = strikeTotals(faults, moment, current);
    const invoice = stated === null ? current : { ...current, stated };
    if (stated !== null) store.put('invoice', invoice.invoiceId, invoice);
    const file = EVENTS[eventType].bringsFile ? invoice.exports.at(-1) : undefined;
    const skewMs = this.#exports.skewMs(moment);
    const location = file === undefined ? null : this.#exports.locate(invoice, file, moment, skewMs);
    const parts = this.#eventParts(eventType, invoice, { location, testEvent: false, skewMs });
    const events: BillingEvent[] = [buildEvent(parts, faults, moment)];
    const unknown = faults.strike('unknown-event-type', moment);
    if (unknown !== null) {
      const eventId = this.#nextEventId();
      events.push(...events.map((event) => ofUnknownType(event, eventId, String(unknown.params.eventType))));
    }
    for (const event of events) {
      store.put('event', event.eventId, event);
      activity.add('event', `${event.eventType} for ${invoice.invoiceNumber}`, invoice.invoiceId);
      for (const registration of registrations.forEvent(event)) deliveries.send(event, registration);
    }
  }

  /** Named one by one: adding fields to a copy of others costs several times as much. */
  #eventParts(
    eventType: EventType,
    invoice: Invoice,
    { location, testEvent, skewMs }: Pick<EventParts, 'location' | 'testEvent' | 'skewMs'>,
  ): EventParts {
    const { now, partner, wirePrefix } = this.#options;
    return {
      eventId: this.#nextEventId(),
      eventType,
      at: now(),
      partner,
      invoice,
      partnerTenantId: this.#book.tenantOf(invoice)?.partnerTenantId ?? null,
      wirePrefix,
      location,
      testEvent,
      skewMs,
    };
  }

  #nextEventId(): string {
    const { seed, environment, store } = this.#options;
    return uuidFrom(seed, environment, 'event', store.count('events'));
  }

  /** Delivers an event once more to those who hear of it, or to one registration. */
  resend(eventId: string, registrationId?: string): readonly Delivery[] {
    const { store, registrations, deliveries } = this.#options;
    const event = store.get('event', eventId);
    if (event === undefined) throw new RefusalError('not_found', `There is no event "${eventId}".`);
    const receivers =
      registrationId === undefined ? registrations.forEvent(event) : [registrations.get(registrationId)];
    return receivers.map((registration) => deliveries.send(event, registration));
  }

  /** Sends a test payload to one registration, active or not (spec 2.3). */
  async test(registrationId: string, eventType: EventType = 'invoice_finalized'): Promise<Delivery> {
    const { store, registrations, deliveries } = this.#options;
    const registration = registrations.get(registrationId);
    const { status, bringsFile } = EVENTS[eventType];
    const invoice = { ...(await this.#exports.sampleInvoice()), status };
    const moment = this.#book.moment('event', invoice);
    const location = bringsFile ? this.#exports.locate(invoice, invoice.file, moment, 0) : null;
    const parts = this.#eventParts(eventType, invoice, { location, testEvent: true, skewMs: 0 });
    const event = buildEvent(parts, null, moment);
    store.put('event', event.eventId, event);
    return deliveries.send(event, registration);
  }
}
