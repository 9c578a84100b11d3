import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Agent, type Server, request as sendRequest } from 'node:https';
import { generate } from 'selfsigned';
import { testName } from './processes/environment.ts';

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
  /** Number of generated rows, or the given cells of each. */
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
  readonly seed: number;
}

/** Easy to find wherever a program leaks it. */
export const SIGNATURE_MARK = 'planted/signature+';

export class ForeignBilling {
  readonly partnerId: string;
  readonly events: string[] = [];
  /** Known once the server listens. */
  origin = '';
  readonly #options: ForeignBillingOptions;
  readonly #invoices = new Map<string, StoredInvoice>();
  readonly #signingKey = randomBytes(32);
  #urlsExpiredBefore = 0;

  constructor(options: ForeignBillingOptions) {
    this.#options = options;
    this.partnerId = uuidOf(`partner ${options.seed}`);
  }

  create({ tenant = testName(), currencyCode = 'USD', rows = 3 }: NewForeignInvoice = {}): StoredInvoice {
    const sequence = this.#invoices.size + 1;
    const invoiceId = uuidOf(`invoice ${this.#options.seed} ${sequence}`);
    const given = typeof rows === 'number' ? Array.from({ length: rows }, () => ({})) : rows;
    const made = given.map((cells, index) => ({
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

  get(invoiceId: string): StoredInvoice {
    const invoice = this.find(invoiceId);
    if (invoice === undefined) throw new Error(`There is no invoice ${invoiceId}.`);
    return invoice;
  }

  billedRows(): readonly ForeignRow[] {
    const approved = [...this.#invoices.values()].filter(({ status }) => status === 'APPROVED');
    return approved.flatMap(({ rows }) => rows);
  }

  /** The exact text of a new event, which is stored. */
  createEvent(
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

  /** The invoice of a presigned URL, or the error code. */
  opened({ pathname, searchParams }: URL): StoredInvoice | 'SignatureDoesNotMatch' | 'AccessDenied' {
    const [, , name = ''] = pathname.split('/');
    const { at = '', until = '', signature = '' } = Object.fromEntries(searchParams);
    const invoice = this.find(name.replace(/\.csv$/, ''));
    if (invoice === undefined || signature !== this.#signatureOf(name, at, until))
      return 'SignatureDoesNotMatch';
    if (Number(until) <= Date.now() || Number(at) < this.#urlsExpiredBefore) return 'AccessDenied';
    return invoice;
  }

  expireUrls(): void {
    this.#urlsExpiredBefore = Date.now() + 1;
  }

  #signatureOf(name: string, at: string, until: string): string {
    const digest = createHash('sha256').update(this.#signingKey).update(`${name} ${at} ${until}`);
    return `${SIGNATURE_MARK}${digest.digest('base64')}`;
  }
}

export interface ForeignEndpoint {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: any certificate is accepted. */
  readonly caPem?: string;
  /** Deliveries use keep-alive connections; default: a new connection for each. The specification leaves it open. */
  readonly keepsConnections?: boolean;
}

export function json(response: ServerResponse, status: number, body: object) {
  text(response, status, 'application/json', JSON.stringify(body));
}

export function text(response: ServerResponse, status: number, type: string, body: string) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** @param agent false: a new connection @returns the status, 0 without an answer */
export function post(
  { url, headers, caPem }: ForeignEndpoint,
  body: string,
  agent: Agent | false,
): Promise<number> {
  const trust = caPem === undefined ? { rejectUnauthorized: false } : { ca: caPem };
  const all = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  return new Promise((resolve) => {
    const request = sendRequest(
      url,
      { method: 'POST', headers: all, timeout: 30_000, agent, ...trust },
      (response) => {
        response.resume().once('close', () => resolve(response.statusCode ?? 0));
      },
    );
    request.on('timeout', () => request.destroy()).on('error', () => resolve(0));
    request.end(body);
  });
}

export function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

export async function makeCertificates() {
  const ca = await generate([{ name: 'commonName', value: 'A Private CA' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  const leaf = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 2, value: 'billing.invalid' },
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { caPem: ca.cert, certPem: leaf.cert, keyPem: leaf.private };
}

/** A row as billed; decimals are exact text, an empty cell is ''. */
export interface ForeignRow {
  readonly tenant: string;
  readonly invoiceId: string;
  readonly invoiceDate: string;
  readonly shipDate: string;
  readonly origin: string;
  readonly currencyCode: string;
  readonly billingCost: string;
  readonly billableWeight: string;
  readonly unit: string;
  readonly trackingNumber: string;
  readonly carrier: string;
  readonly zone: string;
  readonly carrierInvoiceDate: string;
  readonly serviceLevel: string;
}

const AWKWARD_LEVELS = [
  'Ground',
  'Express, "next day"',
  'Zwei\r\nZeilen',
  '=SUM(A1)',
  '',
  'Übernacht 🚚',
] as const;
const CARRIERS = ['UPS', 'FedEx', 'DHL, Inc.'] as const;

export function madeUpRow(
  invoiceId: string,
  index: number,
  { tenant, currencyCode }: { readonly tenant: string | null; readonly currencyCode: string },
): ForeignRow {
  const tenThousandths = (index % 7 === 3 ? -1 : 1) * (12_345 + index * 10_007);
  return {
    tenant: tenant ?? 'The Whole "Partner"',
    invoiceId,
    invoiceDate: '2026-11-01',
    shipDate: `2026-10-${String(1 + (index % 30)).padStart(2, '0')}`,
    origin: index % 5 === 4 ? '' : String(501 + index).padStart(5, '0'),
    currencyCode,
    billingCost: decimalOf(BigInt(tenThousandths)),
    billableWeight: index % 6 === 5 ? '' : `${index % 40}.25`,
    unit: index % 6 === 5 ? '' : index % 2 === 0 ? 'LB' : 'KG',
    trackingNumber: `1Z${invoiceId.slice(0, 8)}${index}`,
    carrier: CARRIERS[index % CARRIERS.length] ?? 'UPS',
    zone: index % 4 === 0 ? '' : `Zone ${index % 8}`,
    carrierInvoiceDate: index % 3 === 0 ? '' : '2026-10-30',
    serviceLevel: AWKWARD_LEVELS[index % AWKWARD_LEVELS.length] ?? '',
  };
}

const HEADER_LINE =
  'Tenant,Invoice Generation Date,Invoice ID,Ship Date,Origin,Currency Code,Billing Cost,Billable Weight,' +
  'Billable Weight Unit,Tracking Number,Carrier,Carrier Zone,Carrier Invoice Date,Service Level';

export function csvOf(rows: readonly ForeignRow[]): string {
  const lines = rows.map((row) => {
    const dated = [row.tenant, row.invoiceDate, row.invoiceId, row.shipDate, row.origin, row.currencyCode];
    const billed = [row.billingCost, row.billableWeight, row.unit, row.trackingNumber, row.carrier, row.zone];
    const cells = [...dated, ...billed, row.carrierInvoiceDate, row.serviceLevel];
    return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.split('"').join('""')}"` : cell)).join(',');
  });
  return [HEADER_LINE, ...lines, ''].join('\r\n');
}

/** Exact, with four decimals. */
export function totalOf(rows: readonly ForeignRow[]): string {
  const total = rows.reduce((sum, { billingCost }) => {
    const [whole = '0', fraction = ''] = billingCost.replace('-', '').split('.');
    const amount = BigInt(whole + fraction.padEnd(4, '0').slice(0, 4));
    return billingCost.startsWith('-') ? sum - amount : sum + amount;
  }, 0n);
  return decimalOf(total);
}

function decimalOf(tenThousandths: bigint): string {
  const digits = String(tenThousandths < 0n ? -tenThousandths : tenThousandths).padStart(5, '0');
  return `${tenThousandths < 0n ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`;
}

export function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
