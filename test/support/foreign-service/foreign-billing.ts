/** What the foreign service knows: invoices with their rows, the events it made of them, and its presigned URLs. */

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { testName } from '../test-name.ts';
import { csvOf, type ForeignRow, madeUpRow, totalOf, uuidOf } from './foreign-rows.ts';

export interface ForeignInvoice {
  readonly invoiceId: string;
  readonly tenantId: string | null;
  readonly status: 'DRAFT' | 'APPROVED' | 'CANCELED';
  readonly rows: readonly ForeignRow[];
}

export interface NewForeignInvoice {
  /** null for a partner-level invoice. */
  readonly tenant?: string | null;
  readonly currencyCode?: string;
  /** How many rows to make up, or the cells that matter of each. */
  readonly rows?: number | readonly Partial<ForeignRow>[];
}

/** The fields of an export as events and a regenerate call give them (spec 2.7). */
export interface ForeignExport {
  readonly presignedUrl: string;
  readonly presignedUrlExpiresAt: string;
  readonly fileHashSha256: string;
  readonly fileSizeBytes: number;
}

export interface StoredInvoice extends ForeignInvoice {
  readonly invoiceNumber: string;
  readonly tenantName: string | null;
  readonly csv: string;
  status: ForeignInvoice['status'];
}

export interface ForeignBillingOptions {
  readonly wirePrefix: string;
  readonly urlLifetimeSeconds: number;
  /** First bytes of its ids and amounts. */
  readonly seed: number;
}

/** Plain to find wherever a program lets it out. */
export const SIGNATURE_MARK = 'planted/signature+';

export class ForeignBilling {
  readonly partnerId: string;
  /** Texts of all events so far, in order. */
  readonly events: string[] = [];
  /** Known once the server listens. */
  origin = '';
  readonly #options: ForeignBillingOptions;
  readonly #invoices = new Map<string, StoredInvoice>();
  readonly #signingKey = randomBytes(32);
  #urlsDeadBefore = 0;

  constructor(options: ForeignBillingOptions) {
    this.#options = options;
    this.partnerId = uuidOf(`partner ${options.seed}`);
  }

  create({ tenant = testName(), currencyCode = 'USD', rows = 3 }: NewForeignInvoice = {}): StoredInvoice {
    const sequence = this.#invoices.size + 1;
    const invoiceId = uuidOf(`invoice ${this.#options.seed} ${sequence}`);
    const wanted = typeof rows === 'number' ? Array.from({ length: rows }, () => ({})) : rows;
    const made = wanted.map((cells, index) => ({
      ...madeUpRow(invoiceId, index, { tenant, currencyCode }),
      ...cells,
    }));
    const invoice: StoredInvoice = {
      invoiceId,
      invoiceNumber: `ACME-${sequence}`,
      tenantName: tenant,
      tenantId: tenant === null ? null : uuidOf(`tenant ${tenant}`),
      status: 'DRAFT',
      rows: made,
      csv: csvOf(made),
    };
    this.#invoices.set(invoiceId, invoice);
    return invoice;
  }

  find(invoiceId: string): StoredInvoice | undefined {
    return this.#invoices.get(invoiceId.toLowerCase());
  }

  /** @throws Error there is no such invoice */
  get(invoiceId: string): StoredInvoice {
    const invoice = this.find(invoiceId);
    if (invoice === undefined) throw new Error(`There is no invoice ${invoiceId}.`);
    return invoice;
  }

  /** Every row of invoices that count: approved, not cancelled. */
  billedRows(): readonly ForeignRow[] {
    const approved = [...this.#invoices.values()].filter(({ status }) => status === 'APPROVED');
    return approved.flatMap(({ rows }) => rows);
  }

  /** An event's exact text, which is kept. */
  tell(
    invoice: StoredInvoice,
    eventType: string,
    { status, more = {} }: { status: string; more?: object },
  ): string {
    const metadata = JSON.stringify({
      eventId: randomUUID(),
      eventTimestamp: new Date().toISOString(),
      eventType,
      partnerId: this.partnerId,
      payloadSchemaVersion: 'v1',
      testEvent: false,
    });
    const eventText = `{"metadata":${metadata},"payload":${this.payloadOf(invoice, status, more)}}`;
    this.events.push(eventText);
    return eventText;
  }

  /** Spec 2.6 as JSON text: the amount keeps its four decimals. */
  payloadOf(invoice: StoredInvoice, status: string, more: object = {}): string {
    const { wirePrefix } = this.#options;
    const fields = {
      [`${wirePrefix}InvoiceId`]: invoice.invoiceId,
      partnerInvoiceId: null,
      [`${wirePrefix}TenantId`]: invoice.tenantId,
      partnerTenantId: invoice.tenantId === null ? null : `EXT-${invoice.tenantName}`,
      invoiceNumber: invoice.invoiceNumber,
      invoiceStatus: status,
      invoiceStartDate: '2026-10-01T00:00:00+00:00',
      invoiceEndDate: '2026-10-31T23:59:59+00:00',
      invoiceDate: '2026-11-01T00:00:00+00:00',
      invoiceDueDate: '2026-11-16T00:00:00+00:00',
      currencyCode: invoice.rows[0]?.currencyCode ?? 'USD',
      totalTransactionCount: invoice.rows.length,
      ...more,
    };
    return JSON.stringify(fields).replace(/}$/, `,"invoiceTotalAmount":${totalOf(invoice.rows)}}`);
  }

  exportOf(invoiceId: string): ForeignExport {
    const bytes = Buffer.from(this.get(invoiceId).csv);
    const at = String(Date.now());
    const untilMs = Date.now() + this.#options.urlLifetimeSeconds * 1_000;
    const name = `${invoiceId}.csv`;
    const signature = this.#signatureOf(name, at, String(untilMs));
    const query = new URLSearchParams({ at, until: String(untilMs), signature });
    return {
      presignedUrl: `${this.origin}/bucket/${name}?${query}`,
      presignedUrlExpiresAt: new Date(untilMs).toISOString().replace('Z', '+00:00'),
      fileHashSha256: createHash('sha256').update(bytes).digest('hex').toUpperCase(),
      fileSizeBytes: bytes.length,
    };
  }

  /** The invoice that a presigned URL names, or why it does not open anything. */
  opened({ pathname, searchParams }: URL): StoredInvoice | 'SignatureDoesNotMatch' | 'AccessDenied' {
    const [, , name = ''] = pathname.split('/');
    const { at = '', until = '', signature = '' } = Object.fromEntries(searchParams);
    const invoice = this.find(name.replace(/\.csv$/, ''));
    if (invoice === undefined || signature !== this.#signatureOf(name, at, until))
      return 'SignatureDoesNotMatch';
    if (Number(until) <= Date.now() || Number(at) < this.#urlsDeadBefore) return 'AccessDenied';
    return invoice;
  }

  /** Every presigned URL handed out so far is dead from now on. */
  expireUrls(): void {
    this.#urlsDeadBefore = Date.now() + 1;
  }

  #signatureOf(name: string, at: string, until: string): string {
    const digest = createHash('sha256').update(this.#signingKey).update(`${name} ${at} ${until}`);
    return `${SIGNATURE_MARK}${digest.digest('base64')}`;
  }
}
