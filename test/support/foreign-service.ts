/**
 * A second billing service, an independent implementation of the specification: another maker's prefix, a private CA, tokens that
 * live three seconds and end in `=`, secrets with `+/=:`, and complaints about every call that breaks the rules. It imports nothing
 * of the product or the sandbox.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ForeignBilling,
  type ForeignEndpoint,
  type ForeignInvoice,
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
import { listen } from './listen.ts';

export type { ForeignInvoice };

export interface ForeignServiceOptions {
  readonly wirePrefix?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly urlLifetimeSeconds?: number;
  readonly seed?: number;
}

export type ForeignService = Awaited<ReturnType<typeof startForeignService>>;

const CLIENT = { clientId: 'partner/one+two=', clientSecret: 's+e/c=r:e t%2B&ü==' };

export async function startForeignService({
  wirePrefix = 'acme',
  tokenLifetimeSeconds = 3,
  urlLifetimeSeconds = 24 * 3_600,
  seed = 1,
}: ForeignServiceOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-service-'));
  const { caPem, certPem, keyPem } = await makeCertificates();
  const caFile = join(folder, 'private-ca.pem');
  await writeFile(caFile, caPem);

  const billing = new ForeignBilling({ wirePrefix, urlLifetimeSeconds, seed });
  const handler = new ForeignServer(billing, { ...CLIENT, tokenLifetimeSeconds });
  const server = createServer({ key: keyPem, cert: certPem }, (request, response) => {
    readBody(request)
      .then((body) => handler.answer(request, body, response))
      .catch((error: unknown) => {
        handler.complaints.push(`the foreign service failed: ${String(error)}`);
        response.writeHead(500).end();
      });
  });
  billing.origin = `https://localhost:${await listen(server)}`;

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
    await deliver(billing.createEvent(invoice, eventType, { status, more }));
    return invoice;
  }

  return {
    ...{ ...CLIENT, caFile, caPem, partnerId: billing.partnerId },
    ...{ baseUrl: `${billing.origin}/rest`, authUrl: `${billing.origin}/auth` },
    storageHost: new URL(billing.origin).host,
    /** Sets the endpoint of later events; they are retried once (spec 8). */
    register,
    createInvoice: (request?: NewForeignInvoice) => emit(billing.create(request), 'invoice_created'),
    async finalize(invoiceId: string) {
      const invoice = billing.get(invoiceId);
      invoice.status = 'APPROVED';
      return emit(invoice, 'invoice_finalized', billing.exportOf(invoiceId));
    },
    async void(invoiceId: string) {
      const invoice = billing.get(invoiceId);
      invoice.status = 'CANCELED';
      return emit(invoice, 'invoice_voided');
    },
    /** Sends the exact text of an event to the registered endpoint. @returns the last status, 0 without an answer */
    deliver,
    events: billing.events as readonly string[],
    /** Must be empty at the end of a test. */
    complaints: handler.complaints as readonly Complaint[],
    /** The fields of spec 2.7 in a regenerate answer. */
    exportOf: (invoiceId: string) => billing.exportOf(invoiceId),
    billedRows: () => billing.billedRows(),
    tokensIssued: () => handler.tokensIssued,
    calls: handler.calls as readonly ForeignRoute[],
    /** Sets the answer of an endpoint; null restores the normal one. */
    play(route: ForeignRoute, quirk: ForeignQuirk | null) {
      if (quirk === null) handler.quirks.delete(route);
      else handler.quirks.set(route, quirk);
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

/** One request with valid credentials; `respond` sends the normal answer. */
export interface ForeignCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly invoice: StoredInvoice | undefined;
  respond(): void;
}

export type ForeignQuirk = (call: ForeignCall) => void;

/** Easy to find wherever a program leaks it. */
export const TOKEN_MARK = 'planted/token+';

export class ForeignServer {
  readonly complaints: Complaint[] = [];
  readonly quirks = new Map<ForeignRoute, ForeignQuirk>();
  readonly calls: ForeignRoute[] = [];
  readonly #billing: ForeignBilling;
  readonly #credentials: ForeignCredentials;
  readonly #tokens = new Map<string, number>();

  constructor(billing: ForeignBilling, credentials: ForeignCredentials) {
    this.#billing = billing;
    this.#credentials = credentials;
  }

  get tokensIssued(): number {
    return this.#tokens.size;
  }

  answer(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    const url = new URL(request.url ?? '/', this.#billing.origin);
    if (url.pathname === '/auth/oauth/token') {
      const respond = () => this.#issueToken(request, body, response);
      return this.#play('token', { request, response, invoice: undefined, respond });
    }
    if (url.pathname.startsWith('/bucket/')) return this.#sendFile(request, url, response);
    if (!url.pathname.startsWith('/rest/api/v1/')) return json(response, 404, {});
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const expiresAt = this.#tokens.get(token);
    if (expiresAt === undefined) this.complaints.push(`${url.pathname} was called with an unknown token`);
    if (expiresAt === undefined || expiresAt <= Date.now()) {
      return json(response, 401, { error: 'invalid_token', error_description: 'The access token expired' });
    }
    this.#callApi(request, { path: url.pathname.slice('/rest/api/v1'.length), body }, response);
  }

  #play(route: ForeignRoute, call: ForeignCall) {
    this.calls.push(route);
    const quirk = this.quirks.get(route) ?? call.respond;
    quirk(call);
  }

  /** Spec 4.1, strictly. */
  #issueToken(request: IncomingMessage, body: Buffer, response: ServerResponse) {
    const { clientId, clientSecret, tokenLifetimeSeconds } = this.#credentials;
    const expected = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const type = request.headers['content-type'];
    if (request.method !== 'POST' || type !== 'application/x-www-form-urlencoded') {
      this.complaints.push(`token requested with ${request.method} and ${type}`);
      return json(response, 400, { error: 'invalid_request' });
    }
    if (body.toString() !== 'grant_type=client_credentials') {
      this.complaints.push('token requested with another body');
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
    const play = (route: ForeignRoute, respond: () => void) =>
      this.#play(route, { request, response, invoice, respond });
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

  /** Object storage: the URL is the only credential; an Authorization header is refused. */
  #sendFile(request: IncomingMessage, url: URL, response: ServerResponse) {
    const refuse = (status: number, code: string) => {
      const body = `<Error><Code>${code}</Code><Message>${code}</Message></Error>`;
      return text(response, status, 'application/xml', body);
    };
    if (request.headers.authorization !== undefined) {
      this.complaints.push('storage received an Authorization header');
      return refuse(400, 'InvalidArgument');
    }
    const invoice = this.#billing.opened(url);
    if (typeof invoice === 'string') return refuse(403, invoice);
    const respond = () => text(response, 200, 'text/csv', invoice.csv);
    this.#play('storage', { request, response, invoice, respond });
  }
}

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
