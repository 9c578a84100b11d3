/**
 * The billing product itself: invoices are generated, submitted, approved and canceled here, and here only
 * events come into being (spec 3, 6). The status and its event are written together, so a restart never finds
 * one without the other.
 */
import type { Activity } from './activity.js';
import { type CsvSource, csvChunks, measureCsv } from './csv-file.js';
import type { Deliveries } from './deliveries.js';
import { buildEvent, type FileLocation, ofUnknownType, strikeTotals } from './events.js';
import { type Faults, type Moment, numberParam, type Place, switchParam } from './faults.js';
import { assertMove } from './lifecycle.js';
import { MALFORMATION_NAMES } from './malformed-csv.js';
import type {
  BillingEvent,
  Delivery,
  Environment,
  EventType,
  ExportFile,
  InternalStatus,
  Invoice,
  Partner,
  Tenant,
} from './model.js';
import { makeInvoice, type NewInvoice } from './new-invoice.js';
import { presign } from './presigned.js';
import { bytesFrom, fractionFrom, uuidFrom } from './randomness.js';
import { RefusalError } from './refusal.js';
import type { Registrations } from './registrations.js';
import { type BilledShipment, shipmentsOf } from './shipments.js';
import type { Store } from './store.js';

export interface BillingOptions {
  readonly store: Store;
  readonly faults: Faults;
  readonly activity: Activity;
  readonly deliveries: Deliveries;
  readonly registrations: Registrations;
  readonly partner: Partner;
  readonly seed: number;
  readonly environment: Environment;
  readonly wirePrefix: string;
  readonly signingSecret: string;
  readonly storageUrl: () => string;
  readonly urlLifetimeSeconds: number;
  readonly now: () => Date;
}

export class Billing {
  readonly #options: BillingOptions;
  #sample: Promise<Invoice> | null = null;
  #sampleId: string | null = null;

  constructor(options: BillingOptions) {
    this.#options = options;
  }

  get partner(): Partner {
    return this.#options.partner;
  }

  invoices(): readonly Invoice[] {
    return [...this.#options.store.all('invoice').values()];
  }

  /** @throws RefusalError when there is none */
  invoice(invoiceId: string): Invoice {
    const invoice = this.#options.store.get('invoice', invoiceId);
    if (invoice !== undefined) return invoice;
    throw new RefusalError('not_found', `There is no invoice "${invoiceId}".`);
  }

  tenants(): readonly Tenant[] {
    return [...this.#options.store.all('tenant').values()];
  }

  /** By name, id or the partner's own id. @throws RefusalError when there is none */
  tenant(word: string): Tenant {
    const found = this.tenants().find((tenant) => wordsOf(tenant).includes(word));
    if (found !== undefined) return found;
    throw new RefusalError('not_found', `There is no tenant "${word}".`);
  }

  /** Generates an invoice in DRAFT, which emits invoice_created (spec 3). */
  async create(wanted: NewInvoice = {}): Promise<Invoice> {
    const { store, seed, environment, partner, now } = this.#options;
    const sequence = store.count('invoices');
    const sources = this.#sourcesOf(wanted);
    const tenant = this.#tenantOf(wanted, sequence);
    const find = (id: string) => this.invoice(id);
    const plan = { seed, environment, sequence, now: now(), partner, tenant, sources, find };
    const invoice = await makeInvoice(wanted, plan);
    store.put('invoice', invoice.invoiceId, invoice);
    this.#options.activity.add('invoice', `${invoice.invoiceNumber} generated in DRAFT`, invoice.invoiceId);
    this.#emit('invoice_created', invoice);
    return this.invoice(invoice.invoiceId);
  }

  /** DRAFT to PENDING_APPROVAL; no event (spec 6, rule 1). */
  submit(invoiceId: string): Invoice {
    return this.#move(invoiceId, 'PENDING_APPROVAL');
  }

  /** PENDING_APPROVAL to APPROVED, export, invoice_finalized; without an export no event (spec 6, rule 6). */
  async approve(invoiceId: string): Promise<Invoice> {
    const invoice = this.#move(invoiceId, 'APPROVED');
    const moment = this.moment('export', invoice);
    if (this.#options.faults.strike('export-failure', moment) !== null) {
      this.#options.activity.add('invoice', `${invoice.invoiceNumber}: the export failed`, invoiceId);
      return invoice;
    }
    await this.#export(invoice, this.#drawMalformation(invoice, moment));
    this.#emit('invoice_finalized', this.invoice(invoiceId));
    if (invoice.tenantId !== null && this.#options.faults.strike('partner-level-double', moment) !== null) {
      const double = await this.create({ partnerLevel: true, sources: [invoiceId] });
      await this.finalize(double.invoiceId);
    }
    return this.invoice(invoiceId);
  }

  /** To CANCELED, from anywhere but CANCELED; emits invoice_voided. */
  cancel(invoiceId: string): Invoice {
    const invoice = this.#move(invoiceId, 'CANCELED');
    this.#emit('invoice_voided', invoice);
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
    await this.#export(invoice, null);
    return this.invoice(invoiceId);
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
  async testEvent(registrationId: string, eventType: EventType = 'invoice_finalized'): Promise<Delivery> {
    const { store, registrations, deliveries } = this.#options;
    const registration = registrations.get(registrationId);
    const status: InternalStatus =
      eventType === 'invoice_created' ? 'DRAFT' : eventType === 'invoice_finalized' ? 'APPROVED' : 'CANCELED';
    const invoice = { ...(await this.#sampleInvoice()), status };
    const moment = this.moment('event', invoice);
    const location =
      eventType === 'invoice_finalized' ? this.#locate(invoice, invoice.file, moment, 0) : null;
    const parts = { ...this.#eventParts(eventType, invoice), location, testEvent: true, skewMs: 0 };
    const event = buildEvent(parts, null, moment);
    store.put('event', event.eventId, event);
    return deliveries.send(event, registration);
  }

  /** A fresh presigned URL for the newest export; null when there is none (spec 4.3, 7). */
  regenerate(invoiceId: string): FileLocation | null {
    const invoice = this.invoice(invoiceId);
    const file = invoice.exports.at(-1);
    if (file === undefined) return null;
    const moment = this.moment('regenerate', invoice);
    return this.#locate(invoice, file, moment, this.#skewMs(moment));
  }

  /** The file that lies under a key of object storage, null when none does. */
  async stored(key: string): Promise<{ invoice: Invoice; file: ExportFile } | null> {
    const invoiceId = key.split('/')[1] ?? '';
    const sample = invoiceId === this.#sampleInvoiceId() ? await this.#sampleInvoice() : null;
    const invoice = sample ?? this.#options.store.get('invoice', invoiceId);
    if (invoice === undefined) return null;
    const file = (sample === null ? invoice.exports : [invoice.file]).find((one) => one.key === key);
    return file === undefined ? null : { invoice, file };
  }

  /** The bytes of a file. */
  read(invoice: Invoice, file: ExportFile): Generator<Buffer> {
    return csvChunks(this.#csvSource(invoice), file.malformation);
  }

  /** The rows as billed. */
  rows(invoice: Invoice): Generator<BilledShipment> {
    return shipmentsOf(invoice, (id) => this.invoice(id));
  }

  tenantOf(invoice: Pick<Invoice, 'tenantId'>): Tenant | null {
    const { store } = this.#options;
    return invoice.tenantId === null ? null : (store.get('tenant', invoice.tenantId) ?? null);
  }

  moment(place: Place, invoice: Invoice): Moment {
    return { place, invoiceId: invoice.invoiceId, tenantWords: this.tenantWords(invoice.tenantId) };
  }

  /** Every word by which a fault's target may name a tenant. */
  tenantWords(tenantId: string | null): readonly string[] {
    const tenant = tenantId === null ? undefined : this.#options.store.get('tenant', tenantId);
    return tenant === undefined ? [] : wordsOf(tenant);
  }

  #move(invoiceId: string, to: InternalStatus): Invoice {
    const { store, now, activity } = this.#options;
    const invoice = this.invoice(invoiceId);
    assertMove(invoice.status, to);
    const history = [...invoice.history, { status: to, at: now().toISOString() }];
    const next: Invoice = { ...invoice, status: to, history };
    store.put('invoice', invoiceId, next);
    activity.add('invoice', `${invoice.invoiceNumber}: ${invoice.status} to ${to}`, invoiceId);
    return next;
  }

  async #export(invoice: Invoice, malformation: string | null): Promise<void> {
    const key = invoice.file.key.replace(/\d+\.csv$/, `${invoice.exports.length + 1}.csv`);
    const file =
      malformation === null
        ? { ...invoice.file, key }
        : { ...(await this.#measure(invoice, malformation)), key, malformation };
    const current = this.invoice(invoice.invoiceId);
    this.#options.store.put('invoice', invoice.invoiceId, {
      ...current,
      exports: [...current.exports, file],
    });
  }

  async #measure(invoice: Invoice, malformation: string): Promise<Pick<ExportFile, 'sha256' | 'sizeBytes'>> {
    const { sha256, sizeBytes } = await measureCsv(this.#csvSource(invoice), malformation);
    return { sha256, sizeBytes };
  }

  #drawMalformation(invoice: Invoice, moment: Moment): string | null {
    const rule = this.#options.faults.strike('malformed-csv', moment);
    if (rule === null) return null;
    if (rule.params.kind !== 'random') return String(rule.params.kind);
    const draw = fractionFrom(rule.seed, 'malformation', invoice.invoiceId);
    return MALFORMATION_NAMES[Math.floor(draw * MALFORMATION_NAMES.length)] ?? 'empty-file';
  }

  #emit(eventType: EventType, current: Invoice): void {
    const { store, faults, activity, registrations, deliveries } = this.#options;
    const moment = { ...this.moment('event', current), eventType };
    const stated = strikeTotals(faults, moment, current);
    const invoice = stated === null ? current : { ...current, stated };
    if (stated !== null) store.put('invoice', invoice.invoiceId, invoice);
    const file = eventType === 'invoice_finalized' ? invoice.exports.at(-1) : undefined;
    const skewMs = this.#skewMs(moment);
    const location = file === undefined ? null : this.#locate(invoice, file, moment, skewMs);
    const parts = { ...this.#eventParts(eventType, invoice), location, testEvent: false, skewMs };
    const events: BillingEvent[] = [buildEvent(parts, faults, moment)];
    const unknown = faults.strike('unknown-event-type', moment);
    if (unknown !== null) {
      const { eventId } = this.#eventParts(eventType, invoice);
      events.push(...events.map((event) => ofUnknownType(event, eventId, String(unknown.params.eventType))));
    }
    for (const event of events) {
      store.put('event', event.eventId, event);
      activity.add('event', `${event.eventType} for ${invoice.invoiceNumber}`, invoice.invoiceId);
      for (const registration of registrations.forEvent(event)) deliveries.send(event, registration);
    }
  }

  #eventParts(eventType: EventType, invoice: Invoice) {
    const { seed, environment, now, partner, wirePrefix, store } = this.#options;
    return {
      eventId: uuidFrom(seed, environment, 'event', store.count('events')),
      eventType,
      at: now(),
      partner,
      invoice,
      partnerTenantId: this.tenantOf(invoice)?.partnerTenantId ?? null,
      wirePrefix,
    };
  }

  /** How far the service's clock is off in what it writes; expiry itself is never off. */
  #skewMs(moment: Moment): number {
    const rule = this.#options.faults.strike('clock-skew', moment);
    return rule === null ? 0 : numberParam(rule, 'hours') * 3_600_000;
  }

  #locate(invoice: Invoice, file: ExportFile, moment: Moment, skewMs: number): FileLocation {
    const { faults, signingSecret, storageUrl, urlLifetimeSeconds, now } = this.#options;
    const expired = faults.strike('expired-url', moment);
    const wrongHash = faults.strike('wrong-hash', moment) !== null;
    const wrongSize = faults.strike('wrong-size', moment);
    const usual = new Date(now().getTime() + urlLifetimeSeconds * 1_000);
    const expiresAt = expired === null ? usual : new Date(now().getTime() - 1_000);
    const announced = expired !== null && switchParam(expired, 'silent') ? usual : expiresAt;
    return {
      presignedUrl: presign({ storageUrl: storageUrl(), signingSecret, key: file.key, expiresAt }),
      presignedUrlExpiresAt: new Date(announced.getTime() + skewMs).toISOString(),
      fileHashSha256: wrongHash ? otherHash(invoice.invoiceId) : file.sha256,
      fileSizeBytes: file.sizeBytes + (wrongSize === null ? 0 : numberParam(wrongSize, 'by')),
    };
  }

  #csvSource(invoice: Invoice): CsvSource {
    const tenantColumn = this.tenantOf(invoice)?.name ?? this.partner.name;
    return { invoice, tenantColumn, find: (id) => this.invoice(id) };
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

  /** What a partner-level invoice of a 3PL sums: all shipments of all tenants in one currency (spec 2.9). */
  #sourcesOf(wanted: NewInvoice): readonly Invoice[] {
    if (wanted.partnerLevel !== true || this.partner.kind === 'enterprise') return [];
    if (wanted.shipments !== undefined) {
      throw new RefusalError(
        'invalid_request',
        'A partner-level invoice has the rows of the invoices it sums.',
      );
    }
    const sources = wanted.sources?.map((id) => this.invoice(id)) ?? this.#unsummed(wanted.set?.currencyCode);
    const currencies = new Set(sources.map(({ currencyCode }) => currencyCode));
    if (currencies.size > 1) {
      throw new RefusalError('invalid_request', 'Invoices of several currencies cannot be summed.');
    }
    if (sources.length > 0 && sources.every(({ tenantId }) => tenantId !== null)) return sources;
    throw new RefusalError(
      'conflict',
      'There are no tenant-level invoices that a partner-level one could sum.',
    );
  }

  #unsummed(currencyCode = 'USD'): readonly Invoice[] {
    const live = this.invoices().filter(({ status }) => status !== 'CANCELED');
    const summed = new Set(live.flatMap(({ sources }) => sources));
    return live.filter(
      (one) => one.tenantId !== null && one.currencyCode === currencyCode && !summed.has(one.invoiceId),
    );
  }

  /** The invoice of test payloads: its file can be downloaded, but no list or endpoint knows it. */
  #sampleInvoice(): Promise<Invoice> {
    const { seed, environment, now, partner } = this.#options;
    const tenant = this.tenants()[0] ?? null;
    this.#sample ??= makeInvoice(
      { shipments: 3, set: { invoiceNumber: 'TEST-000000', partnerInvoiceId: null } },
      {
        seed,
        environment,
        sequence: 0,
        now: now(),
        partner,
        tenant,
        sources: [],
        find: (id) => this.invoice(id),
      },
    );
    return this.#sample;
  }

  #sampleInvoiceId(): string {
    this.#sampleId ??= uuidFrom(this.#options.seed, this.#options.environment, 'invoice', 0);
    return this.#sampleId;
  }
}

function wordsOf(tenant: Tenant): readonly string[] {
  return [tenant.name, tenant.tenantId, tenant.partnerTenantId];
}

function otherHash(invoiceId: string): string {
  return bytesFrom(32, 'wrong hash', invoiceId).toString('hex');
}
