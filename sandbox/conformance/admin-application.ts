/** The billing application through the sandbox's admin API; the names on the wire are that API's, not ours. */
import {
  type Application,
  type ApplicationInvoice,
  type LoggedDelivery,
  RefusalError,
  type Tenant,
  type WantedInvoice,
  type Webhook,
  type WebhookSettings,
} from './application.ts';
import type { Call, Http } from './http.ts';

interface AdminRegistration {
  readonly registrationId: string;
  readonly name: string;
  readonly url: string;
  readonly active: boolean;
}

interface AdminDelivery {
  readonly registrationId: string;
  readonly eventId: string;
  readonly state: string;
  readonly attempts: readonly object[];
}

export class AdminApplication implements Application {
  readonly #http: Http;
  readonly #adminUrl: string;

  constructor(http: Http, adminUrl: string) {
    this.#http = http;
    this.#adminUrl = adminUrl;
  }

  async partnerName(): Promise<string> {
    const { partner } = await this.#ask<{ partner: { name: string } }>('GET', '/status');
    return partner.name;
  }

  tenants(): Promise<readonly Tenant[]> {
    return this.#ask('GET', '/tenants');
  }

  async addWebhook(settings: WebhookSettings): Promise<Webhook> {
    return toWebhook(await this.#ask<AdminRegistration>('POST', '/registrations', settings));
  }

  async webhooks(): Promise<readonly Webhook[]> {
    return (await this.#ask<readonly AdminRegistration[]>('GET', '/registrations')).map(toWebhook);
  }

  async enableWebhook(webhookId: string): Promise<void> {
    await this.#ask('POST', `/registrations/${webhookId}/enable`);
  }

  async disableWebhook(webhookId: string): Promise<void> {
    await this.#ask('POST', `/registrations/${webhookId}/disable`);
  }

  async deleteWebhook(webhookId: string): Promise<void> {
    await this.#ask('DELETE', `/registrations/${webhookId}`);
  }

  async sendTest(webhookId: string): Promise<void> {
    await this.#ask('POST', `/registrations/${webhookId}/test-event`);
  }

  createInvoice(wanted: WantedInvoice): Promise<ApplicationInvoice> {
    return this.#ask('POST', '/invoices', wanted);
  }

  submit(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#ask('POST', `/invoices/${invoiceId}/submit`);
  }

  approve(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#ask('POST', `/invoices/${invoiceId}/approve`);
  }

  cancel(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#ask('POST', `/invoices/${invoiceId}/cancel`);
  }

  invoice(invoiceId: string): Promise<ApplicationInvoice> {
    return this.#ask('GET', `/invoices/${invoiceId}`);
  }

  async deliveryLog(invoiceId: string): Promise<readonly LoggedDelivery[]> {
    const query = `?invoiceId=${encodeURIComponent(invoiceId)}&limit=1000`;
    const log = await this.#ask<readonly AdminDelivery[]>('GET', `/deliveries${query}`);
    return log.map(({ registrationId, eventId, state, attempts }) => ({
      webhookId: registrationId,
      eventId,
      state,
      attempts: attempts.length,
    }));
  }

  async runSchedule(
    settings: Parameters<Application['runSchedule']>[0],
  ): Promise<readonly ApplicationInvoice[]> {
    const { autoApprove, tenants, overrides } = settings;
    const schedule = { name: 'Conformance', autoApprove, tenants, tenantOverrides: overrides, shipments: 2 };
    const { scheduleId } = await this.#ask<{ scheduleId: string }>('POST', '/schedules', schedule);
    const invoices = await this.#ask<readonly ApplicationInvoice[]>('POST', `/schedules/${scheduleId}/run`);
    await this.#ask('DELETE', `/schedules/${scheduleId}`);
    return invoices;
  }

  async failExport(invoiceId: string): Promise<void> {
    await this.#ask('POST', '/faults', { name: 'export-failure', count: 1, target: { invoiceId } });
  }

  async failRegenerate(invoiceId: string): Promise<void> {
    const target = { invoiceId, endpoint: 'regenerate' };
    await this.#ask('POST', '/faults', { name: 'bad-request', count: 1, target });
  }

  addApiKey(): Promise<{ readonly keyId: string; readonly key: string }> {
    return this.#ask('POST', '/api-keys', { name: 'Conformance' });
  }

  async deactivateApiKey(keyId: string): Promise<void> {
    await this.#ask('POST', `/api-keys/${keyId}/deactivate`);
  }

  async #ask<T>(method: NonNullable<Call['method']>, path: string, body?: object): Promise<T> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await this.#http.call({ method, url: `${this.#adminUrl}${path}`, headers, ...json });
    const text = answer.body.toString('utf8');
    if (answer.status < 200 || answer.status > 299) throw new RefusalError(answer.status, text);
    return (text === '' ? null : JSON.parse(text)) as T;
  }
}

function toWebhook({ registrationId, name, url, active }: AdminRegistration): Webhook {
  return { webhookId: registrationId, name, url, active };
}
