/** The foreign service's side of HTTP: tokens, the API behind them, and the object storage. It complains of bent rules. */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ForeignBilling, StoredInvoice } from './foreign-billing.ts';
import { json, text } from './foreign-wire.ts';

/** What a client did that the specification does not allow, in words. */
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
