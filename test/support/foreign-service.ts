/**
 * A second billing service, read from the specification once more and by nobody who wrote the first: another maker's
 * prefix, a private CA, tokens that live three seconds and end in `=`, secrets full of `+/=:`, and no patience with a
 * client that bends the rules. It imports nothing of ours, so that agreement with it proves something.
 */

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server, request as sendRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';

export interface ForeignServiceOptions {
  readonly wirePrefix?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly urlLifetimeSeconds?: number;
  /** First bytes of its ids and amounts. */
  readonly seed?: number;
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

/** What a client did that the specification does not allow, in words. */
export type Complaint = string;

export interface ForeignService {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly caFile: string;
  readonly caPem: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly partnerId: string;
  readonly storageHost: string;
  /** Where events go from here on, with these headers; one retry after a moment (spec 8). */
  register(endpoint: {
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly caPem?: string;
  }): void;
  createInvoice(wanted?: NewForeignInvoice): Promise<ForeignInvoice>;
  finalize(invoiceId: string): Promise<ForeignInvoice>;
  void(invoiceId: string): Promise<ForeignInvoice>;
  /** Sends an event's exact text to the registered endpoint (again); its last status, 0 without an answer. */
  deliver(eventText: string): Promise<number>;
  /** Texts of all events so far, in order. */
  readonly events: readonly string[];
  /** Every row of invoices that count: approved, not cancelled. */
  billedRows(): readonly ForeignRow[];
  /** Must be empty at the end of a test. */
  readonly complaints: readonly Complaint[];
  readonly tokensGiven: () => number;
  /** What nobody may keep: its client secret, and a text that every token, every presigned query holds. */
  readonly secrets: readonly string[];
  /** Every presigned URL handed out so far is dead from now on. */
  expireUrls(): void;
  /** The 2.7 fields of an invoice as a regenerate call would give them. */
  exportOf(invoiceId: string): {
    presignedUrl: string;
    presignedUrlExpiresAt: string;
    fileHashSha256: string;
    fileSizeBytes: number;
  };
  close(): Promise<void>;
}

/** Plain to find wherever a program lets them out. */
const TOKEN_MARK = 'planted/token+';
const SIGNATURE_MARK = 'planted/signature+';

export async function startForeignService(options: ForeignServiceOptions = {}): Promise<ForeignService> {
  const {
    wirePrefix = 'acme',
    tokenLifetimeSeconds = 3,
    urlLifetimeSeconds = 24 * 3_600,
    seed = 1,
  } = options;
  const folder = await mkdtemp(join(tmpdir(), 'foreign-service-'));
  const tls = await makeCertificates();
  const caFile = join(folder, 'private-ca.pem');
  await writeFile(caFile, tls.caPem);

  const clientId = 'partner/one+two=';
  const clientSecret = 's+e/c=r:e t%2B&ü==';
  const partnerId = uuidOf(`partner ${seed}`);
  const signingKey = randomBytes(32);
  const tokens = new Map<string, number>();
  const invoices = new Map<string, StoredInvoice>();
  const events: string[] = [];
  const complaints: Complaint[] = [];
  let tokensGiven = 0;
  let urlsDeadBefore = 0;
  let endpoint: Parameters<ForeignService['register']>[0] | null = null;
  let origin = '';

  const server = createServer({ key: tls.keyPem, cert: tls.certPem }, (request, response) => {
    readBody(request)
      .then((body) => answer(request, body, response))
      .catch((error: unknown) => {
        complaints.push(`the foreign service itself failed: ${String(error)}`);
        response.writeHead(500).end();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `https://localhost:${(server.address() as AddressInfo).port}`;

  function answer(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    const url = new URL(request.url ?? '/', origin);
    if (url.pathname === '/auth/oauth/token') return giveToken(request, body, response);
    if (url.pathname.startsWith('/bucket/')) return giveFile(request, url, response);
    if (!url.pathname.startsWith('/rest/api/v1/')) return json(response, 404, {});
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const diesAt = tokens.get(token);
    if (diesAt === undefined) complaints.push(`${url.pathname} was called with a token that was never given`);
    if (diesAt === undefined || diesAt <= Date.now()) {
      return json(response, 401, { error: 'invalid_token', error_description: 'The access token expired' });
    }
    callApi(request, url.pathname.slice('/rest/api/v1'.length), body, response);
  }

  /** Spec 4.1, to the letter. */
  function giveToken(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    const expected = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const type = request.headers['content-type'];
    if (request.method !== 'POST' || type !== 'application/x-www-form-urlencoded') {
      complaints.push(`token asked for with ${request.method} and ${type}`);
      return json(response, 400, { error: 'invalid_request' });
    }
    if (body.toString() !== 'grant_type=client_credentials') {
      complaints.push('token asked for with another body');
      return json(response, 400, { error: 'unsupported_grant_type' });
    }
    if (request.headers.authorization !== expected) return json(response, 401, { error: 'invalid_client' });
    // 31 bytes make a text that ends in ==
    const token = `${TOKEN_MARK}${randomBytes(31).toString('base64')}`;
    tokens.set(token, Date.now() + tokenLifetimeSeconds * 1_000);
    tokensGiven++;
    json(response, 200, {
      access_token: token,
      token_type: 'bearer',
      expires_in: tokenLifetimeSeconds,
      scope: 'billing ping',
      partnerId,
      partnerIds: partnerId,
      userId: 'client',
    });
  }

  function callApi(request: IncomingMessage, path: string, body: Buffer, response: ServerResponse) {
    const route = `${request.method} ${path}`;
    if (route === 'GET /deliveryexperience/ping') return json(response, 200, { status: 1, info: 'pong' });
    const [, invoiceId = '', action = ''] = /^\/billing\/invoices\/([^/]+)(?:\/([a-z-]+))?$/.exec(path) ?? [];
    const invoice = invoices.get(decodeURIComponent(invoiceId));
    switch (`${request.method} ${action}`) {
      case 'POST regenerate-presigned-url':
        if (body.length > 0) complaints.push('regenerate was called with a body');
        if (invoice?.status !== 'APPROVED') return json(response, 404, { message: 'No export' });
        return json(response, 200, exportOf(invoice.invoiceId));
      case 'GET ':
        if (invoice === undefined) return json(response, 404, {});
        return text(
          response,
          200,
          'application/json',
          `{"result":{"invoice":${payloadOf(invoice, invoice.status)}}}`,
        );
      case 'GET export-csv':
        if (invoice === undefined) return json(response, 404, {});
        return text(response, 200, 'text/csv; charset=utf-8', invoice.csv);
      default:
        complaints.push(`there is no ${route}`);
        return json(response, 405, {});
    }
  }

  /** Object storage: the URL alone is the key, and whoever shows another one is turned away. */
  function giveFile(request: IncomingMessage, url: URL, response: ServerResponse) {
    const [, , invoiceId = ''] = url.pathname.split('/');
    const { at = '', until = '', signature = '' } = Object.fromEntries(url.searchParams);
    const invoice = invoices.get(invoiceId.replace(/\.csv$/, ''));
    const refuse = (status: number, code: string) =>
      text(
        response,
        status,
        'application/xml',
        `<Error><Code>${code}</Code><Message>${code}</Message></Error>`,
      );
    if (request.headers.authorization !== undefined) {
      complaints.push('storage was shown our Authorization');
      return refuse(400, 'InvalidArgument');
    }
    if (invoice === undefined || signature !== signatureOf(invoiceId, at, until))
      return refuse(403, 'SignatureDoesNotMatch');
    if (Number(until) <= Date.now() || Number(at) < urlsDeadBefore) return refuse(403, 'AccessDenied');
    text(response, 200, 'text/csv', invoice.csv);
  }

  function signatureOf(name: string, at: string, until: string): string {
    const digest = createHash('sha256').update(signingKey).update(`${name} ${at} ${until}`).digest('base64');
    return `${SIGNATURE_MARK}${digest}`;
  }

  function exportOf(invoiceId: string) {
    const { csv } = found(invoiceId);
    const bytes = Buffer.from(csv);
    const at = String(Date.now());
    const untilMs = Date.now() + urlLifetimeSeconds * 1_000;
    const name = `${invoiceId}.csv`;
    const query = new URLSearchParams({
      at,
      until: String(untilMs),
      signature: signatureOf(name, at, String(untilMs)),
    });
    return {
      presignedUrl: `${origin}/bucket/${name}?${query}`,
      presignedUrlExpiresAt: new Date(untilMs).toISOString().replace('Z', '+00:00'),
      fileHashSha256: createHash('sha256').update(bytes).digest('hex').toUpperCase(),
      fileSizeBytes: bytes.length,
    };
  }

  function found(invoiceId: string): StoredInvoice {
    const invoice = invoices.get(invoiceId);
    if (invoice === undefined) throw new Error(`There is no invoice ${invoiceId}.`);
    return invoice;
  }

  /** Spec 2.6 as JSON text: the amount keeps its four decimals. */
  function payloadOf(invoice: StoredInvoice, status: string, more: object = {}): string {
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

  async function emit(
    invoice: StoredInvoice,
    eventType: string,
    status: string,
    more: object = {},
  ): Promise<void> {
    const metadata = JSON.stringify({
      eventId: randomUUID(),
      eventTimestamp: new Date().toISOString(),
      eventType,
      partnerId,
      payloadSchemaVersion: 'v1',
      testEvent: false,
    });
    const eventText = `{"metadata":${metadata},"payload":${payloadOf(invoice, status, more)}}`;
    events.push(eventText);
    await deliver(eventText);
  }

  async function deliver(eventText: string): Promise<number> {
    if (endpoint === null) return 0;
    const first = await post(endpoint, eventText);
    if (first >= 200 && first < 300) return first;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return post(endpoint, eventText);
  }

  return {
    ...{
      baseUrl: `${origin}/rest`,
      authUrl: `${origin}/auth`,
      caFile,
      caPem: tls.caPem,
      clientId,
      clientSecret,
      partnerId,
    },
    storageHost: new URL(origin).host,
    register: (to) => {
      endpoint = to;
    },
    async createInvoice({ tenant = 'Nordwind', currencyCode = 'USD', rows = 3 } = {}) {
      const sequence = invoices.size + 1;
      const invoiceId = uuidOf(`invoice ${seed} ${sequence}`);
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
      invoices.set(invoiceId, invoice);
      await emit(invoice, 'invoice_created', 'draft');
      return invoice;
    },
    async finalize(invoiceId) {
      const invoice = found(invoiceId);
      invoice.status = 'APPROVED';
      await emit(invoice, 'invoice_finalized', 'finalized', exportOf(invoiceId));
      return invoice;
    },
    async void(invoiceId) {
      const invoice = found(invoiceId);
      invoice.status = 'CANCELED';
      await emit(invoice, 'invoice_voided', 'voided');
      return invoice;
    },
    ...{ deliver, events, complaints, exportOf },
    billedRows: () =>
      [...invoices.values()].filter(({ status }) => status === 'APPROVED').flatMap(({ rows }) => rows),
    tokensGiven: () => tokensGiven,
    secrets: [clientSecret, TOKEN_MARK, SIGNATURE_MARK],
    expireUrls: () => {
      urlsDeadBefore = Date.now() + 1;
    },
    async close() {
      await stop(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface StoredInvoice {
  readonly invoiceId: string;
  readonly invoiceNumber: string;
  readonly tenantName: string | null;
  readonly tenantId: string | null;
  status: 'DRAFT' | 'APPROVED' | 'CANCELED';
  readonly rows: readonly ForeignRow[];
  readonly csv: string;
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

function madeUpRow(
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

function csvOf(rows: readonly ForeignRow[]): string {
  const lines = rows.map((row) => {
    const dated = [row.tenant, row.invoiceDate, row.invoiceId, row.shipDate, row.origin, row.currencyCode];
    const billed = [row.billingCost, row.billableWeight, row.unit, row.trackingNumber, row.carrier, row.zone];
    const cells = [...dated, ...billed, row.carrierInvoiceDate, row.serviceLevel];
    return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.split('"').join('""')}"` : cell)).join(',');
  });
  return [HEADER_LINE, ...lines, ''].join('\r\n');
}

function totalOf(rows: readonly ForeignRow[]): string {
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

function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

function json(response: ServerResponse, status: number, body: object) {
  text(response, status, 'application/json', JSON.stringify(body));
}

function text(response: ServerResponse, status: number, type: string, body: string) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function post(
  {
    url,
    headers,
    caPem,
  }: { readonly url: string; readonly headers?: Readonly<Record<string, string>>; readonly caPem?: string },
  body: string,
): Promise<number> {
  // Without a CA to check against, any certificate will do: the receiver made its own.
  const trust = caPem === undefined ? { rejectUnauthorized: false } : { ca: caPem };
  const all = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  return new Promise((resolve) => {
    const request = sendRequest(
      url,
      { method: 'POST', headers: all, timeout: 30_000, agent: false, ...trust },
      (response) => {
        response.resume().once('close', () => resolve(response.statusCode ?? 0));
      },
    );
    request.on('timeout', () => request.destroy()).on('error', () => resolve(0));
    request.end(body);
  });
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

async function makeCertificates() {
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
          { type: 7, ip: '127.0.0.1' },
        ],
      },
    ],
  });
  return { caPem: ca.cert, certPem: leaf.cert, keyPem: leaf.private };
}
