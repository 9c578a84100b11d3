/** The status of an invoice and its event are written together, so that a restart never finds one without the other. */

import type { Deliveries } from '../delivery/deliveries.ts';
import { buildEvent, type FileLocation, ofUnknownType, strikeTotals } from '../delivery/events.ts';
import type { Registrations } from '../delivery/registrations.ts';
import {
  type BillingEvent,
  type Delivery,
  EVENTS,
  type EventType,
  type ExportFile,
  type InternalStatus,
  type Invoice,
  type Tenant,
} from '../model.ts';
import { uuidFrom } from '../randomness.ts';
import { RefusalError, refuse, requireBilling } from '../refusal.ts';
import { Exports, type ExportsOptions } from './exports.ts';
import { InvoiceBook } from './invoice-book.ts';
import { makeInvoice, type NewInvoice, sourcesOf } from './new-invoice.ts';

export type BillingOptions = ExportsOptions & {
  readonly deliveries: Deliveries;
  readonly registrations: Registrations;
};

const MOVES: Readonly<Record<InternalStatus, readonly InternalStatus[]>> = {
  DRAFT: ['PENDING_APPROVAL', 'CANCELED'],
  PENDING_APPROVAL: ['APPROVED', 'CANCELED'],
  APPROVED: ['CANCELED'],
  CANCELED: [],
};

export class Billing extends InvoiceBook {
  readonly #options: BillingOptions;
  readonly exports: Exports;

  constructor(options: BillingOptions) {
    super(options);
    this.#options = options;
    this.exports = new Exports(options, this);
  }

  async create(request: NewInvoice = {}): Promise<Invoice> {
    const { store, seed, environment, partner, now, hasBilling, activity } = this.#options;
    requireBilling(hasBilling);
    const sequence = store.count('invoices');
    const sources = sourcesOf(request, this);
    const tenant = this.#tenantOfNew(request, sequence);
    const find = (id: string) => this.invoice(id);
    const plan = { seed, environment, sequence, now: now(), partner, tenant, sources, find };
    const invoice = await makeInvoice(request, plan);
    store.put('invoice', invoice.invoiceId, invoice);
    activity.add('invoice', `${invoice.invoiceNumber} generated in DRAFT`, invoice.invoiceId);
    this.#emit('invoice_created', invoice);
    return this.invoice(invoice.invoiceId);
  }

  /** Sends no event: an invoice that waits for approval is not announced (spec 6, rule 1). */
  submit(invoiceId: string): Invoice {
    return this.#move(invoiceId, 'PENDING_APPROVAL');
  }

  /**
   * An approval whose export fails sends no event (spec 6, rule 6). The file is prepared first, so that status, file and event are
   * written together.
   */
  async approve(invoiceId: string): Promise<Invoice> {
    const { faults, activity } = this.#options;
    const pending = this.invoice(invoiceId);
    assertMove(pending.status, 'APPROVED');
    const moment = this.moment('export', pending);
    if (faults.strike('export-failure', moment) !== null) {
      activity.add('invoice', `${pending.invoiceNumber}: the export failed`, invoiceId);
      return this.#move(invoiceId, 'APPROVED');
    }
    const file = await this.exports.prepare(pending, this.exports.drawMalformation(pending, moment));
    this.#emit('invoice_finalized', this.#move(invoiceId, 'APPROVED', file));
    if (pending.tenantId !== null && faults.strike('partner-level-double', moment) !== null) {
      const double = await this.create({ partnerLevel: true, sources: [invoiceId] });
      await this.finalize(double.invoiceId);
    }
    return this.invoice(invoiceId);
  }

  cancel(invoiceId: string): Invoice {
    this.#emit('invoice_voided', this.#move(invoiceId, 'CANCELED'));
    return this.invoice(invoiceId);
  }

  async finalize(invoiceId: string): Promise<Invoice> {
    if (this.invoice(invoiceId).status === 'DRAFT') this.submit(invoiceId);
    return this.approve(invoiceId);
  }

  /** Exports the file again as it should be, without a fault and without sending an event. */
  async repair(invoiceId: string): Promise<Invoice> {
    const invoice = this.invoice(invoiceId);
    if (invoice.status !== 'APPROVED') {
      throw new RefusalError(
        'conflict',
        `The invoice is ${invoice.status}; only APPROVED ones are exported.`,
      );
    }
    const file = await this.exports.prepare(invoice, null);
    const current = this.invoice(invoiceId);
    const next = { ...current, exports: [...current.exports, file] };
    this.#options.store.put('invoice', invoiceId, next);
    return next;
  }

  resend(eventId: string, registrationId?: string): readonly Delivery[] {
    const { store, registrations, deliveries } = this.#options;
    const event = store.get('event', eventId);
    if (event === undefined) throw new RefusalError('not_found', `There is no event "${eventId}".`);
    const receivers =
      registrationId === undefined ? registrations.forEvent(event) : [registrations.get(registrationId)];
    return receivers.map((registration) => deliveries.send(event, registration));
  }

  /** A test event may be sent to an inactive registration too (spec 2.3). */
  async testEvent(registrationId: string, eventType: EventType = 'invoice_finalized'): Promise<Delivery> {
    const { store, registrations, deliveries } = this.#options;
    const registration = registrations.get(registrationId);
    const { status, bringsFile } = EVENTS[eventType];
    const invoice = { ...(await this.exports.sampleInvoice()), status };
    const moment = this.moment('event', invoice);
    const location = bringsFile ? this.exports.locate(invoice, invoice.file, moment, 0) : null;
    const parts = { ...this.#eventParts(eventType, invoice, location), testEvent: true, skewMs: 0 };
    const event = buildEvent(parts, null, moment);
    store.put('event', event.eventId, event);
    return deliveries.send(event, registration);
  }

  /** Returns null for an invoice without an export (spec 4.3, 7). */
  regenerate(invoiceId: string): FileLocation | null {
    const invoice = this.invoice(invoiceId);
    const file = invoice.exports.at(-1);
    if (file === undefined) return null;
    const moment = this.moment('regenerate', invoice);
    return this.exports.locate(invoice, file, moment, this.exports.skewMs(moment));
  }

  #emit(eventType: EventType, current: Invoice): void {
    const { store, faults, activity, registrations, deliveries } = this.#options;
    const moment = this.moment('event', current, eventType);
    const stated = strikeTotals(faults, moment, current);
    const invoice = stated === null ? current : { ...current, stated };
    if (stated !== null) store.put('invoice', invoice.invoiceId, invoice);
    const file = EVENTS[eventType].bringsFile ? invoice.exports.at(-1) : undefined;
    const skewMs = this.exports.skewMs(moment);
    const location = file === undefined ? null : this.exports.locate(invoice, file, moment, skewMs);
    const parts = { ...this.#eventParts(eventType, invoice, location), testEvent: false, skewMs };
    const event = buildEvent(parts, faults, moment);
    const events: BillingEvent[] = [event];
    const unknown = faults.strike('unknown-event-type', moment);
    if (unknown !== null) {
      events.push(ofUnknownType(event, this.#nextEventId(), String(unknown.params.eventType)));
    }
    for (const one of events) {
      store.put('event', one.eventId, one);
      activity.add('event', `${one.eventType} for ${invoice.invoiceNumber}`, invoice.invoiceId);
      for (const registration of registrations.forEvent(one)) deliveries.send(one, registration);
    }
  }

  #eventParts(eventType: EventType, invoice: Invoice, location: FileLocation | null) {
    const { now, partner, wirePrefix } = this.#options;
    const partnerTenantId = this.tenantOf(invoice)?.partnerTenantId ?? null;
    const eventId = this.#nextEventId();
    return { eventId, eventType, at: now(), partner, invoice, partnerTenantId, wirePrefix, location };
  }

  #nextEventId(): string {
    const { seed, environment, store } = this.#options;
    return uuidFrom(seed, environment, 'event', store.count('events'));
  }

  #move(invoiceId: string, to: InternalStatus, file?: ExportFile): Invoice {
    const { store, now, activity } = this.#options;
    const invoice = this.invoice(invoiceId);
    assertMove(invoice.status, to);
    const history = [...invoice.history, { status: to, at: now().toISOString() }];
    const exports = file === undefined ? invoice.exports : [...invoice.exports, file];
    const next: Invoice = { ...invoice, status: to, history, exports };
    store.put('invoice', invoiceId, next);
    activity.add('invoice', `${invoice.invoiceNumber}: ${invoice.status} to ${to}`, invoiceId);
    return next;
  }

  #tenantOfNew({ partnerLevel, tenant }: NewInvoice, sequence: number): Tenant | null {
    if (partnerLevel === true || this.partner.kind === 'enterprise') {
      if (tenant === undefined) return null;
      refuse('A partner-level invoice has no tenant (spec 2.9).');
    }
    if (tenant !== undefined) return this.tenant(tenant);
    const tenants = this.tenants();
    return tenants[(sequence - 1) % tenants.length] ?? null;
  }
}

function assertMove(from: InternalStatus, to: InternalStatus): void {
  const allowed = MOVES[from];
  if (allowed.includes(to)) return;
  const reason = allowed.length === 0 ? `${from} is final` : `${from} moves to ${allowed.join(' or ')} only`;
  throw new RefusalError(
    'refused_transition',
    `An invoice cannot move from ${from} to ${to}: ${reason} (spec 3).`,
  );
}
