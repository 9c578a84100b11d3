/** The specification defines no API for these actions (spec 1); the sandbox offers them through its admin API. */

import type { Call, Http } from './http.ts';

export type Status = 'DRAFT' | 'PENDING_APPROVAL' | 'APPROVED' | 'CANCELED';

export interface Tenant {
  readonly tenantId: string;
  readonly name: string;
  readonly partnerTenantId: string;
}

export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly eventTypes?: readonly string[];
  readonly tenants?: 'all' | readonly string[];
}

export interface Webhook extends WebhookSettings {
  readonly registrationId: string;
  readonly active: boolean;
}

export interface InvoiceRequest {
  /** The tenant's id; without it the service chooses a tenant. */
  readonly tenant?: string;
  readonly partnerLevel?: boolean;
  readonly sources?: readonly string[];
  readonly shipments?: number;
}

export interface ApplicationInvoice {
  readonly invoiceId: string;
  readonly status: Status;
  readonly tenantId: string | null;
  readonly currencyCode: string;
}

export interface LoggedDelivery {
  readonly registrationId: string;
  readonly eventId: string;
  readonly state: string;
  readonly attempts: readonly object[];
}

/** `status` is the HTTP status of the answer. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class Application {
  readonly #http: Http;
  readonly #adminUrl: string;

  constructor(http: Http, adminUrl: string) {
    this.#http = http;
    this.#adminUrl = adminUrl;
  }

  async partnerName(): Promise<string> {
    const { partner } = await this.#call<{ partner: { name: string } }>('GET', '/status');
    return partner.name;
  }

  /** The list is empty for partners that do not use the tenant feature. */
  tenants(): Promise<readonly Tenant[]> {
    return this.#call('GET', '/tenants');
  }

  /** @throws RefusalError when a setting is against the rules */
  addWebhook(settings: WebhookSettings): Promise<Webhook> {
    return this.#call('POST', '/registrations', settings);
  }

  webhooks(): Promise<readonly Webhook[]> {
    return this.#call('GET', '/registrations');
  }

  async enableWebhook(registrationId: string): Promise<void> {
    await this.#call('POST', `/registrations/${registrationId}/enable`);
  }

  async disableWebhook(registrationId: string): Promise<void> {
    await this.#call('POST', `/registrations/${registrationId}/disable`);
  }

  async deleteWebhook(registrationId: string): Promise<void> {
    await this.#call('DELETE', `/registrations/${registrationId}`);
  }

  async sendTest(registrationId: string): Promise<void> {
    await this.#call('POST', `/registrations/${registrationId}/test-event`);
  }

  createInvoice(request: InvoiceRequest): Promise<ApplicationInvoice> {
    return this.#call('POST', '/invoices', request);
  }

  /** @throws RefusalError when the table of spec 3 has no such move */
  submit(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#call('POST', `/invoices/${invoiceId}/submit`);
  }

  approve(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#call('POST', `/invoices/${invoiceId}/approve`);
  }

  async finalize(invoiceId: string): Promise<ApplicationInvoice> {
    await this.submit(invoiceId);
    return this.approve(invoiceId);
  }

  cancel(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#call('POST', `/invoices/${invoiceId}/cancel`);
  }

  invoice(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#call('GET', `/invoices/${invoiceId}`);
  }

  deliveryLog(invoiceId: string): Promise<readonly LoggedDelivery[]> {
    return this.#call('GET', `/deliveries?invoiceId=${encodeURIComponent(invoiceId)}&limit=1000`);
  }

  async runSchedule({
    autoApprove,
    tenants,
    overrides,
  }: {
    readonly autoApprove: boolean;
    readonly tenants: 'all' | readonly string[];
    /** Tenants, by id, whose auto-approval differs from that of the account. */
    readonly overrides: Readonly<Record<string, boolean>>;
  }): Promise<readonly ApplicationInvoice[]> {
    const schedule = { name: 'Conformance', autoApprove, tenants, tenantOverrides: overrides, shipments: 2 };
    const { scheduleId } = await this.#call<{ scheduleId: string }>('POST', '/schedules', schedule);
    const invoices = await this.#call<readonly ApplicationInvoice[]>('POST', `/schedules/${scheduleId}/run`);
    await this.#call('DELETE', `/schedules/${scheduleId}`);
    return invoices;
  }

  /** Makes the next export of the invoice fail, after which no event may be sent (spec 6, rule 6). */
  async failExport(invoiceId: string): Promise<void> {
    await this.#call('POST', '/faults', { name: 'export-failure', count: 1, target: { invoiceId } });
  }

  async failRegenerate(invoiceId: string): Promise<void> {
    const target = { invoiceId, endpoint: 'regenerate' };
    await this.#call('POST', '/faults', { name: 'bad-request', count: 1, target });
  }

  addApiKey(): Promise<{ readonly keyId: string; readonly key: string }> {
    return this.#call('POST', '/api-keys', { name: 'Conformance' });
  }

  async deactivateApiKey(keyId: string): Promise<void> {
    await this.#call('POST', `/api-keys/${keyId}/deactivate`);
  }

  async #call<T>(method: NonNullable<Call['method']>, path: string, body?: object): Promise<T> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await this.#http.call({ method, url: `${this.#adminUrl}${path}`, headers, ...json });
    const text = answer.body.toString('utf8');
    if (answer.status < 200 || answer.status > 299) throw new RefusalError(answer.status, text);
    return (text === '' ? null : JSON.parse(text)) as T;
  }
}
