/** Calls to the service's API that carry our credentials: a token or an API key, renewed when the service says so (spec 5). */

import type { Settings } from '../lib/config/settings.ts';
import { createScrub } from '../lib/log/scrub.ts';
import { type AccessToken, type ErrorBody, parseErrorBody, parseToken, tokenError } from '../lib/wire/api.ts';
import { type AnswerCheck, readAnswer } from './check-answer.ts';
import { CredentialsRefusedError, NotConfiguredError, RefusedError } from './errors.ts';
import type { Http, HttpAnswer, HttpRequest, HttpStream } from './http.ts';
import { TokenSource } from './token-source.ts';

export interface ApiCall {
  readonly method: 'GET' | 'POST';
  /** Below the base URL. */
  readonly path: string;
  /** What a person calls it, for messages. */
  readonly endpoint: string;
  readonly accept: string;
  /** Beside the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
}

export interface CallLimits {
  readonly deadlineMs: number;
  readonly maxBodyBytes: number;
}

export interface ApiConnection {
  /** Makes sure that a token is at hand: nothing is asked while one is, or with an API key. */
  authorise(signal: AbortSignal | undefined): Promise<void>;
  /** The answer, of whatever status but 401. @throws CredentialsRefusedError when a fresh token is refused as well */
  send(call: ApiCall, limits: CallLimits): Promise<HttpAnswer>;
  /** The open answer when it is 2xx, else all of it. */
  open(call: ApiCall): Promise<HttpStream | HttpAnswer>;
  url(path: string): string;
  /** null with an API key. */
  secondsLeft(): number | null;
}

export interface ApiConnectionOptions {
  readonly settings: Settings['service'];
  readonly http: Http;
  readonly check: AnswerCheck;
  readonly onToken: (token: Pick<AccessToken, 'expiresInSeconds' | 'partnerIds'>) => void;
}

const TOKEN_LIMITS: CallLimits = { deadlineMs: 10_000, maxBodyBytes: 1024 * 1024 };

export function createApiConnection({ settings, http, check, onToken }: ApiConnectionOptions): ApiConnection {
  const clean = createCleaner(settings);
  const tokens = new TokenSource({ fetch: () => requestToken(settings, http, check, clean), onToken });
  const { apiKey, apiKeyHeader } = settings;

  async function authorised<Answer extends HttpAnswer | HttpStream>(
    call: ApiCall,
    attempt: (request: HttpRequest) => Promise<Answer>,
  ): Promise<Answer> {
    const request = { url: url(call.path), method: call.method, signal: call.signal };
    if (apiKey !== null) {
      const headers = { ...call.headers, accept: call.accept, [apiKeyHeader]: apiKey };
      const answer = clean(await attempt({ ...request, headers }), apiKey);
      const refusal = tokenRefusal(answer);
      if (refusal !== null) throw new CredentialsRefusedError('the API key', answer.status, refusal);
      return answer;
    }
    const withToken = async () => {
      const token = await tokens.token(call.signal);
      const headers = { ...call.headers, accept: call.accept, authorization: `Bearer ${token}` };
      const answer = clean(await attempt({ ...request, headers }), token);
      const refusal = tokenRefusal(answer);
      if (refusal !== null) tokens.drop(token);
      return { answer, refusal };
    };
    const first = await withToken();
    // It may have died on the way, or been withdrawn: one fresh token is worth a try, a second one is not.
    const { answer, refusal } = first.refusal === null ? first : await withToken();
    if (refusal !== null) throw new CredentialsRefusedError('a fresh access token', answer.status, refusal);
    return answer;
  }

  function url(path: string): string {
    if (settings.baseUrl === null) throw new NotConfiguredError(['BILLSYNC_BASE_URL']);
    return withoutTrailingSlash(settings.baseUrl) + path;
  }

  return {
    async authorise(signal) {
      if (apiKey === null) await tokens.token(signal);
    },
    send: (call, limits) => authorised(call, (request) => http.send(request, limits)),
    open: (call) =>
      authorised<HttpStream | HttpAnswer>(call, async (request) => {
        const stream = await http.open(request);
        return stream.status >= 200 && stream.status < 300 ? stream : readAnswer(stream, request);
      }),
    url,
    secondsLeft: () => (apiKey === null ? tokens.secondsLeft() : null),
  };
}

type Cleaner = <Answer extends HttpAnswer | HttpStream>(answer: Answer, sent: string) => Answer;

/**
 * Some services answer a refusal with what they were sent. Its words become reasons that are kept and shown, so the
 * credentials are taken out of them here, before anybody reads them.
 */
function createCleaner(settings: Settings['service']): Cleaner {
  const scrub = createScrub({ service: settings });
  return (answer, sent) => {
    const { status, body } = answer;
    if (!(body instanceof Uint8Array) || (status < 400 && tokenError(body) === null)) return answer;
    const text = scrub(Buffer.from(body).toString('utf8').replaceAll(sent, '***'));
    return { ...answer, body: Buffer.from(text, 'utf8') };
  };
}

/** Spec 4.1: Basic credentials, a form body, no more. */
async function requestToken(
  settings: Settings['service'],
  http: Http,
  check: AnswerCheck,
  clean: Cleaner,
): Promise<AccessToken> {
  const { authUrl, clientId, clientSecret } = settings;
  if (authUrl === null || clientId === null || clientSecret === null) {
    const needed = {
      BILLSYNC_AUTH_URL: authUrl,
      BILLSYNC_CLIENT_ID: clientId,
      BILLSYNC_CLIENT_SECRET: clientSecret,
    };
    throw new NotConfiguredError(
      Object.entries(needed).flatMap(([name, value]) => (value === null ? [name] : [])),
    );
  }
  const url = `${withoutTrailingSlash(authUrl)}/oauth/token`;
  const answered = await http.send(
    {
      url,
      method: 'POST',
      headers: {
        accept: 'application/json',
        authorization: basic(clientId, clientSecret),
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'grant_type=client_credentials',
    },
    TOKEN_LIMITS,
  );
  const answer = clean(answered, clientSecret);
  const isAnswered = answer.status >= 200 && answer.status < 300;
  const isRefused = answer.status >= 400 && answer.status < 500;
  const reason = isAnswered ? tokenError(answer.body) : isRefused ? parseErrorBody(answer.body) : null;
  const isCredentials = reason?.code === 'invalid_client' || reason?.code === 'unauthorized_client';
  if (reason !== null && (isCredentials || answer.status === 401 || answer.status === 403)) {
    throw new CredentialsRefusedError('the client id and secret', answer.status, reason);
  }
  if (isAnswered && reason !== null) throw new RefusedError('the token endpoint', answer.status, reason);
  return check.json(answer, { url, endpoint: 'the token endpoint' }, parseToken);
}

/**
 * Plain Basic as any HTTP client makes it (spec 5): RFC 6749 would form-encode id and secret first, the service's
 * document does not, and the two differ for a secret with `+`, `/`, `=` or `:`.
 */
function basic(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${clientId}:${clientSecret}`, 'utf8').toString('base64')}`;
}

/** 401, or any 4xx whose body says `invalid_token`: the specification gives that body no status (spec 7). */
function tokenRefusal({ status, body }: HttpAnswer | HttpStream): ErrorBody | null {
  if (status < 400 || status >= 500 || !(body instanceof Uint8Array)) return null;
  const reason = parseErrorBody(body);
  return status === 401 || reason.code === 'invalid_token' ? reason : null;
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

/** The path of an invoice in the API, below which its other endpoints are (spec 4). */
export function invoicePath(invoiceId: string): string {
  return `/api/v1/billing/invoices/${encodeURIComponent(invoiceId)}`;
}
