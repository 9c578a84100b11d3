/**
 * A second billing service, read from the specification once more and by nobody who wrote the first: another maker's
 * prefix, a private CA, tokens that live three seconds and end in `=`, secrets full of `+/=:`, and no patience with a
 * client that bends the rules. It and its parts import nothing of ours, so that agreement with it proves something.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ForeignBilling,
  type ForeignEndpoint,
  type ForeignExport,
  type ForeignInvoice,
  type ForeignRow,
  json,
  makeCertificates,
  type NewForeignInvoice,
  post,
  readBody,
  SIGNATURE_MARK,
  type StoredInvoice,
  stop,
  text,
} from './foreign-billing.ts';

export type { ForeignInvoice };

export interface ForeignServiceOptions {
  readonly wirePrefix?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly urlLifetimeSeconds?: number;
  /** First bytes of its ids and amounts. */
  readonly seed?: number;
}

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
  register(endpoint: ForeignEndpoint): void;
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
  /** Which endpoints were asked so far, in order. */
  readonly asked: readonly ForeignRoute[];
  /** From here on an endpoint answers so; null: as usual again. */
  play(route: ForeignRoute, quirk: ForeignQuirk | null): void;
  readonly secrets: readonly string[];
  /** Every presigned URL handed out so far is dead from now on. */
  expireUrls(): void;
  /** The 2.7 fields of an invoice as a regenerate call would give them. */
  exportOf(invoiceId: string): ForeignExport;
  close(): Promise<void>;
}

const CLIENT = { clientId: 'partner/one+two=', clientSecret: 's+e/c=r:e t%2B&ü==' };

export async function startForeignService({
  wirePrefix = 'acme',
  tokenLifetimeSeconds = 3,
  urlLifetimeSeconds = 24 * 3_600,
  seed = 1,
}: ForeignServiceOptions = {}): Promise<ForeignService> {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-service-'));
  const { caPem, certPem, keyPem } = await makeCertificates();
  const caFile = join(folder, 'private-ca.pem');
  await writeFile(caFile, caPem);

  const billing = new ForeignBilling({ wirePrefix, urlLifetimeSeconds, seed });
  const door = new ForeignServer(billing, { ...CLIENT, tokenLifetimeSeconds });
  const server = createServer({ key: keyPem, cert: certPem }, (request, response) => {
    readBody(request)
      .then((body) => door.answer(request, body, response))
      .catch((error: unknown) => {
        door.complaints.push(`the foreign service itself failed: ${String(error)}`);
        response.writeHead(500).end();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  billing.origin = `https://localhost:${(server.address() as AddressInfo).port}`;

  let endpoint: ForeignEndpoint | null = null;
  let agent: Agent | false = false;
  function register(to: ForeignEndpoint): void {
    endpoint = to;
    if (agent !== false) agent.destroy();
    agent = to.keepsConnections === true ? new Agent({ keepAlive: true }) : false;
  }
  async function deliver(eventText: string): Promise<number> {
    if (endpoint === null) return 0;
    const first = await post(endpoint, eventText, agent);
    if (first >= 200 && first < 300) return first;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return post(endpoint, eventText, agent);
  }
  async function emit(invoice: StoredInvoice, eventType: string, more: object = {}): Promise<ForeignInvoice> {
    const status = { DRAFT: 'draft', APPROVED: 'finalized', CANCELED: 'voided' }[invoice.status];
    await deliver(billing.tell(invoice, eventType, { status, more }));
    return invoice;
  }

  return {
    ...{ ...CLIENT, caFile, caPem, partnerId: billing.partnerId },
    ...{ baseUrl: `${billing.origin}/rest`, authUrl: `${billing.origin}/auth` },
    storageHost: new URL(billing.origin).host,
    register,
    createInvoice: (wanted) => emit(billing.create(wanted), 'invoice_created'),
    async finalize(invoiceId) {
      const invoice = billing.get(invoiceId);
      invoice.status = 'APPROVED';
      return emit(invoice, 'invoice_finalized', billing.exportOf(invoiceId));
    },
    async void(invoiceId) {
      const invoice = billing.get(invoiceId);
      invoice.status = 'CANCELED';
      return emit(invoice, 'invoice_voided');
    },
    ...{ deliver, events: billing.events, complaints: door.complaints },
    exportOf: (invoiceId) => billing.exportOf(invoiceId),
    billedRows: () => billing.billedRows(),
    tokensGiven: () => door.tokensGiven,
    asked: door.asked,
    play(route, quirk) {
      if (quirk === null) door.quirks.delete(route);
      else door.quirks.set(route, quirk);
    },
    secrets: [CLIENT.clientSecret, TOKEN_MARK, SIGNATURE_MARK],
    expireUrls: () => billing.expireUrls(),
    async close() {
      if (agent !== false) agent.destroy();
      await stop(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type Complaint = string;

export interface ForeignCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tokenLifetimeSeconds: number;
}

export type ForeignRoute = 'token' | 'ping' | 'regenerate' | 'details' | 'export' | 'storage';

/** One request with good credentials, and what would be answered without the quirk. */
export interface ForeignAsk {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly invoice: StoredInvoice | undefined;
  asUsual(): void;
}

/** How this service differs from another: it answers in place of the plain answer. */
export type ForeignQuirk = (ask: ForeignAsk) => void;

/** Plain to find wherever a program lets it out. */
export const TOKEN_MARK = 'planted/token+';

export class ForeignServer {
  readonly complaints: Complaint[] = [];
  readonly quirks = new Map<ForeignRoute, ForeignQuirk>();
  /** Which endpoints were asked, in order. */
  readonly asked: ForeignRoute[] = [];
  readonly #billing: ForeignBilling;
  readonly #credentials: ForeignCredentials;
  readonly #tokens = new Map<string, number>();

  constructor(billing: ForeignBilling, credentials: ForeignCredentials) {
    this.#billing = billing;
    this.#credentials = credentials;
  }

  get tokensGiven(): number {
    return this.#tokens.size;
  }

  answer(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    const url = new URL(request.url ?? '/', this.#billing.origin);
    if (url.pathname === '/auth/oauth/token') {
      const asUsual = () => this.#giveToken(request, body, response);
      return this.#play('token', { request, response, invoice: undefined, asUsual });
    }
    if (url.pathname.startsWith('/bucket/')) return this.#giveFile(request, url, response);
    if (!url.pathname.startsWith('/rest/api/v1/')) return json(response, 404, {});
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const diesAt = this.#tokens.get(token);
    if (diesAt === undefined)
      this.complaints.push(`${url.pathname} was called with a token that was never given`);
    if (diesAt === undefined || diesAt <= Date.now()) {
      return json(response, 401, { error: 'invalid_token', error_description: 'The access token expired' });
    }
    this.#callApi(request, { path: url.pathname.slice('/rest/api/v1'.length), body }, response);
  }

  #play(route: ForeignRoute, ask: ForeignAsk) {
    this.asked.push(route);
    const quirk = this.quirks.get(route) ?? ask.asUsual;
    quirk(ask);
  }

  /** Spec 4.1, to the letter. */
  #giveToken(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    const { clientId, clientSecret, tokenLifetimeSeconds } = this.#credentials;
    const expected = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const type = request.headers['content-type'];
    if (request.method !== 'POST' || type !== 'application/x-www-form-urlencoded') {
      this.complaints.push(`token asked for with ${request.method} and ${type}`);
      return json(response, 400, { error: 'invalid_request' });
    }
    if (body.toString() !== 'grant_type=client_credentials') {
      this.complaints.push('token asked for with another body');
      return json(response, 400, { error: 'unsupported_grant_type' });
    }
    if (request.headers.authorization !== expected) return json(response, 401, { error: 'invalid_client' });
    // 31 bytes make a text that ends in ==
    const token = `${TOKEN_MARK}${randomBytes(31).toString('base64')}`;
    this.#tokens.set(token, Date.now() + tokenLifetimeSeconds * 1_000);
    const { partnerId } = this.#billing;
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

  #callApi(
    request: IncomingMessage,
    { path, body }: { path: string; body: Buffer },
    response: ServerResponse,
  ) {
    const { method = '' } = request;
    const play = (route: ForeignRoute, asUsual: () => void) =>
      this.#play(route, { request, response, invoice, asUsual });
    const [, invoiceId = '', action = ''] =
      /^\/billing\/invoices\/([^/]+)(?:\/([a-z-]+))?\/?$/.exec(path) ?? [];
    const billing = this.#billing;
    const invoice = billing.find(decodeURIComponent(invoiceId));
    if (`${method} ${path}` === 'GET /deliveryexperience/ping') {
      return play('ping', () => json(response, 200, { status: 1, info: 'pong' }));
    }
    switch (`${method} ${action}`) {
      case 'POST regenerate-presigned-url':
        if (body.length > 0) this.complaints.push('regenerate was called with a body');
        return play('regenerate', () => {
          if (invoice?.status !== 'APPROVED') return json(response, 404, { message: 'No export' });
          json(response, 200, billing.exportOf(invoice.invoiceId));
        });
      case 'GET ':
        return play('details', () => {
          if (invoice === undefined) return json(response, 404, {});
          const details = `{"result":{"invoice":${billing.payloadOf(invoice, invoice.status)}}}`;
          text(response, 200, 'application/json', details);
        });
      case 'GET export-csv':
        return play('export', () => {
          if (invoice === undefined) return json(response, 404, {});
          text(response, 200, 'text/csv; charset=utf-8', invoice.csv);
        });
      default:
        this.complaints.push(`there is no ${method} ${path}`);
        return json(response, 405, {});
    }
  }

  /** Object storage: the URL alone is the key, and whoever shows another one is turned away. */
  #giveFile(request: IncomingMessage, url: URL, response: ServerResponse) {
    const refuse = (status: number, code: string) => {
      const body = `<Error><Code>${code}</Code><Message>${code}</Message></Error>`;
      return text(response, status, 'application/xml', body);
    };
    if (request.headers.authorization !== undefined) {
      this.complaints.push('storage was shown our Authorization');
      return refuse(400, 'InvalidArgument');
    }
    const invoice = this.#billing.opened(url);
    if (typeof invoice === 'string') return refuse(403, invoice);
    const asUsual = () => text(response, 200, 'text/csv', invoice.csv);
    this.#play('storage', { request, response, invoice, asUsual });
  }
}

/** Where a service is and how it lets us in. */
export type ServiceAddress = Pick<
  ForeignService,
  'baseUrl' | 'authUrl' | 'clientId' | 'clientSecret' | 'caFile'
>;

export function serviceSettings(service: ServiceAddress): Record<string, string> {
  return {
    BILLSYNC_BASE_URL: service.baseUrl,
    BILLSYNC_AUTH_URL: service.authUrl,
    BILLSYNC_CLIENT_ID: service.clientId,
    BILLSYNC_CLIENT_SECRET: service.clientSecret,
    BILLSYNC_CA_FILE: service.caFile,
    BILLSYNC_ALLOW_PRIVATE_HOSTS: 'true',
  };
}
