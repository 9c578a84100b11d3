import { type Answer, type Call, type Http, jsonObject, textOf } from './http.ts';

export const UNKNOWN_INVOICE = '00000000-0000-4000-8000-000000000000';

export interface ServiceOptions {
  readonly http: Http;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly apiKey: string | null;
}

export interface TokenRequest {
  /** With null, no Authorization header is sent. */
  readonly authorization?: string | null;
  readonly contentType?: string;
  readonly body?: string;
}

export class RefusedCredentialsError extends Error {
  override readonly name = 'RefusedCredentialsError';
}

export class Service {
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly #options: ServiceOptions;
  #token: Promise<string> | null = null;
  #goodUntilMs = 0;

  constructor(options: ServiceOptions) {
    this.#options = options;
    this.baseUrl = options.baseUrl;
    this.apiKey = options.apiKey;
  }

  requestToken(request: TokenRequest = {}): Promise<Answer> {
    const { http, authUrl, clientId, clientSecret } = this.#options;
    const { authorization = basic(clientId, clientSecret) } = request;
    return http.call({
      method: 'POST',
      url: `${authUrl}/oauth/token`,
      headers: {
        accept: 'application/json',
        'content-type': request.contentType ?? 'application/x-www-form-urlencoded',
        ...(authorization === null ? {} : { authorization }),
      },
      body: request.body ?? 'grant_type=client_credentials',
    });
  }

  /** Cached for half its lifetime. @throws RefusedCredentialsError */
  token(): Promise<string> {
    if (this.#token === null || performance.now() > this.#goodUntilMs) {
      this.#goodUntilMs = Number.POSITIVE_INFINITY;
      this.#token = this.#fetchToken();
    }
    return this.#token;
  }

  /** The call has a valid token, or the given headers instead. */
  async call(call: Omit<Call, 'url'> & { readonly path: string }): Promise<Answer> {
    const { path, headers, ...rest } = call;
    const own = headers ?? { authorization: `Bearer ${await this.token()}` };
    return this.#options.http.call({
      ...rest,
      url: `${this.baseUrl}${path}`,
      headers: { accept: 'application/json', ...own },
    });
  }

  plain(call: Call): Promise<Answer> {
    return this.#options.http.call(call);
  }

  ping(headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.call({ path: '/api/v1/deliveryexperience/ping', headers });
  }

  regenerate(invoiceId: string, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    const path = `${invoicePath(invoiceId)}/regenerate-presigned-url`;
    return this.call({ method: 'POST', path, headers });
  }

  details(invoiceId: string, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.call({ path: invoicePath(invoiceId), headers });
  }

  exportCsv(invoiceId: string, headers?: Readonly<Record<string, string>>): Promise<Answer> {
    return this.call({ path: `${invoicePath(invoiceId)}/export-csv`, headers });
  }

  async #fetchToken(): Promise<string> {
    const answer = await this.requestToken();
    const body = jsonObject(answer.body);
    const token = textOf(body?.access_token);
    if (answer.status !== 200 || token === null) {
      this.#token = null;
      throw new RefusedCredentialsError(`The token call was answered with ${answer.status}.`);
    }
    const seconds = Number(String(body?.expires_in ?? 0));
    this.#goodUntilMs = performance.now() + seconds * 500;
    return token;
  }
}

export function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function invoicePath(invoiceId: string): string {
  return `/api/v1/billing/invoices/${encodeURIComponent(invoiceId)}`;
}
