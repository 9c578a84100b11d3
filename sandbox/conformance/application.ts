/**
 * What a person does in the billing application. The specification describes it and gives it no API (spec 1), so
 * a real account is checked without it; the sandbox offers it through its admin API.
 */

export type Status = 'DRAFT' | 'PENDING_APPROVAL' | 'APPROVED' | 'CANCELED';

export interface Tenant {
  readonly tenantId: string;
  readonly name: string;
  readonly partnerTenantId: string;
}

/** Settings of a registration (spec 2.3). */
export interface WebhookSettings {
  readonly name: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly eventTypes?: readonly string[];
  readonly tenants?: 'all' | readonly string[];
}

export interface Webhook extends WebhookSettings {
  readonly webhookId: string;
  readonly active: boolean;
}

export interface WantedInvoice {
  /** Tenant id; left out, the service chooses. */
  readonly tenant?: string;
  readonly partnerLevel?: boolean;
  /** The invoices that a partner-level one sums. */
  readonly sources?: readonly string[];
  readonly shipments?: number;
}

export interface ApplicationInvoice {
  readonly invoiceId: string;
  readonly status: Status;
  readonly tenantId: string | null;
  readonly currencyCode: string;
}

/** A line of the delivery log (spec 6, rule 7). */
export interface LoggedDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  readonly state: string;
  readonly attempts: number;
}

/** The application will not do what it was asked; `status` is the HTTP status of its answer. */
export class RefusalError extends Error {
  override readonly name = 'RefusalError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Application {
  /** The partner's name, which stands in the CSV of partner-level invoices (spec 2.9). */
  partnerName(): Promise<string>;
  /** Empty for partners that do not use the tenant feature. */
  tenants(): Promise<readonly Tenant[]>;

  /** @throws RefusalError when a setting is against the rules */
  addWebhook(settings: WebhookSettings): Promise<Webhook>;
  webhooks(): Promise<readonly Webhook[]>;
  enableWebhook(webhookId: string): Promise<void>;
  disableWebhook(webhookId: string): Promise<void>;
  deleteWebhook(webhookId: string): Promise<void>;
  sendTest(webhookId: string): Promise<void>;

  createInvoice(wanted: WantedInvoice): Promise<ApplicationInvoice>;
  /** @throws RefusalError when the table of spec 3 has no such move */
  submit(invoiceId: string): Promise<ApplicationInvoice>;
  approve(invoiceId: string): Promise<ApplicationInvoice>;
  cancel(invoiceId: string): Promise<ApplicationInvoice>;
  invoice(invoiceId: string): Promise<ApplicationInvoice>;
  deliveryLog(invoiceId: string): Promise<readonly LoggedDelivery[]>;

  /** Runs a schedule of these settings once and removes it; the invoices it generated. */
  runSchedule(settings: {
    readonly autoApprove: boolean;
    readonly tenants: 'all' | readonly string[];
    /** Auto-approve by tenant id, where it differs. */
    readonly overrides: Readonly<Record<string, boolean>>;
  }): Promise<readonly ApplicationInvoice[]>;

  /** Makes the export of the next approval of an invoice fail (spec 6, rule 6). */
  failExport(invoiceId: string): Promise<void>;
  /** Makes regenerating an invoice's URL impossible once (spec 7). */
  failRegenerate(invoiceId: string): Promise<void>;

  addApiKey(): Promise<{ readonly keyId: string; readonly key: string }>;
  deactivateApiKey(keyId: string): Promise<void>;
}
