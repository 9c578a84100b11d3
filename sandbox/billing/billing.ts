/**
 * Billing: invoices are generated, submitted, approved and canceled here (spec 3). Status and event are written together, so that a restart never
 * finds one without the other.
 */

import type { FileLocation } from '../delivery/events.ts';
import { assertMove } from '../lifecycle.ts';
import type { Delivery, EventType, ExportFile, InternalStatus, Invoice, Tenant } from '../model.ts';
import { RefusalError, requireBilling } from '../refusal.ts';
import { stampOf } from '../stamp.ts';
import { Announcements, type AnnouncementsOptions } from './announcements.ts';
import { Exports, type ExportsOptions } from './exports.ts';
import { InvoiceBook } from './invoice-book.ts';
import { makeInvoice, type NewInvoice, sourcesOf } from './new-invoice.ts';

export interface BillingOptions extends ExportsOptions, AnnouncementsOptions {
  readonly hasBilling: boolean;
}

export class Billing extends InvoiceBook {
  readonly #options: BillingOptions;
  readonly #exports: Exports;
  readonly #announcements: Announcements;

  constructor(options: BillingOptions) {
    super(options);
    this.#options = options;
    this.#exports = new Exports(options, this);
    this.#announcements = new Announcements(options, { exports: this.#exports, book: this });
  }

  /** Generates an invoice in DRAFT, which emits invoice_created (spec 3). */
  async create(wanted: NewInvoice = {}): Promise<Invoice> {
    const { store, seed, environment, partner, now, hasBilling } = this.#options;
    requireBilling(hasBilling);
    const sequence = store.count('invoices');
    const sources = sourcesOf(wanted, this);
    const tenant = this.#tenantOf(wanted, sequence);
    const find = (id: string) => this.invoice(id);
    const plan = { seed, environment, sequence, now: now(), partner, tenant, sources, find };
    const invoice = await makeInvoice(wanted, plan);
    store.put('invoice', invoice.invoiceId, invoice);
    this.#options.activity.add('invoice', `${invoice.invoiceNumber} generated in DRAFT`, invoice.invoiceId);
    this.#announcements.emit('invoice_created', invoice);
    return this.invoice(invoice.invoiceId);
  }

  /** DRAFT to PENDING_APPROVAL; no event (spec 6, rule 1). */
  submit(invoiceId: string): Invoice {
    return this.#move(invoiceId, 'PENDING_APPROVAL');
  }

  /**
   * PENDING_APPROVAL to APPROVED, export, invoice_finalized; without an export no event (spec 6, rule 6). What takes
   * time comes first: status, file, event and deliveries then reach the journal in one piece.
   */
  async approve(invoiceId: string): Promise<Invoice> {
    const pending = this.invoice(invoiceId);
    assertMove(pending.status, 'APPROVED');
    const moment = this.moment('export', pending);
    if (this.#options.faults.strike('export-failure', moment) !== null) {
      this.#options.activity.add('invoice', `${pending.invoiceNumber}: the export failed`, invoiceId);
      return this.#move(invoiceId, 'APPROVED');
    }
    const file = await this.#exports.prepare(pending, this.#exports.drawMalformation(pending, moment));
    this.#announcements.emit('invoice_finalized', this.#move(invoiceId, 'APPROVED', file));
    if (pending.tenantId !== null && this.#options.faults.strike('partner-level-double', moment) !== null) {
      const double = await this.create({ partnerLevel: true, sources: [invoiceId] });
      await this.finalize(double.invoiceId);
    }
    return this.invoice(invoiceId);
  }

  /** To CANCELED, from anywhere but CANCELED; emits invoice_voided. */
  cancel(invoiceId: string): Invoice {
    const invoice = this.#move(invoiceId, 'CANCELED');
    this.#announcements.emit('invoice_voided', invoice);
    return this.invoice(invoiceId);
  }

  /** The way from DRAFT or PENDING_APPROVAL to APPROVED, in one step for callers in a hurry. */
  async finalize(invoiceId: string): Promise<Invoice> {
    if (this.invoice(invoiceId).status === 'DRAFT') this.submit(invoiceId);
    return this.approve(invoiceId);
  }

  /** Exports an approved invoice again, rightly: after a failed export, or a malformed file. No event. */
  async repair(invoiceId: string): Promise<Invoice> {
    const invoice = this.invoice(invoiceId);
    if (invoice.status !== 'APPROVED') {
      throw new RefusalError(
        'conflict',
        `The invoice is ${invoice.status}; only APPROVED ones are exported.`,
      );
    }
    const file = await this.#exports.prepare(invoice, null);
    const current = this.invoice(invoiceId);
    const next = { ...current, exports: [...current.exports, file] };
    this.#options.store.put('invoice', invoiceId, next);
    return next;
  }

  /** Delivers an event once more to those who hear of it, or to one registration. */
  resend(eventId: string, registrationId?: string): readonly Delivery[] {
    return this.#announcements.resend(eventId, registrationId);
  }

  /** Sends a test payload to one registration, active or not (spec 2.3). */
  testEvent(registrationId: string, eventType?: EventType): Promise<Delivery> {
    return this.#announcements.test(registrationId, eventType);
  }

  /** A fresh presigned URL for the newest export; null when there is none (spec 4.3, 7). */
  regenerate(invoiceId: string): FileLocation | null {
    const invoice = this.invoice(invoiceId);
    const file = invoice.exports.at(-1);
    if (file === undefined) return null;
    const moment = this.moment('regenerate', invoice);
    return this.#exports.locate(invoice, file, moment, this.#exports.skewMs(moment));
  }

  /** The file that lies under a key of object storage, null when none does. */
  stored(key: string): Promise<{ invoice: Invoice; file: ExportFile } | null> {
    return this.#exports.stored(key);
  }

  /** The bytes of a file. */
  read(invoice: Invoice, file: ExportFile): Generator<Buffer> {
    return this.#exports.read(invoice, file);
  }

  #move(invoiceId: string, to: InternalStatus, file?: ExportFile): Invoice {
    const { store, now, activity } = this.#options;
    const invoice = this.invoice(invoiceId);
    assertMove(invoice.status, to);
    const history = [...invoice.history, { status: to, at: stampOf(now()) }];
    const exports = file === undefined ? invoice.exports : [...invoice.exports, file];
    const next: Invoice = { ...invoice, status: to, history, exports };
    const change = file === undefined ? { status: to, history } : { status: to, history, exports };
    store.put('invoice', invoiceId, next, change);
    activity.add('invoice', `${invoice.invoiceNumber}: ${invoice.status} to ${to}`, invoiceId);
    return next;
  }

  #tenantOf(wanted: NewInvoice, sequence: number): Tenant | null {
    if (wanted.partnerLevel === true || this.partner.kind === 'enterprise') {
      if (wanted.tenant === undefined) return null;
      throw new RefusalError('invalid_request', 'A partner-level invoice has no tenant (spec 2.9).');
    }
    if (wanted.tenant !== undefined) return this.tenant(wanted.tenant);
    const tenants = this.tenants();
    return tenants[(sequence - 1) % tenants.length] ?? null;
  }
}
