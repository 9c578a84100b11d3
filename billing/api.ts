import type { Settings } from '../lib/config/settings.ts';
import { rememberSecret } from '../lib/log/passing-secrets.ts';
import { createScrub } from '../lib/log/scrub.ts';
import { type AccessToken, type ErrorBody, parseErrorBody, parseToken, tokenError } from '../lib/wire/api.ts';
import { MalformedAnswerError } from '../lib/wire/json.ts';
import { checkAnswer, openAnswerAfter, readRefusal } from './answers.ts';
import { BillingError, describeRefusal } from './errors.ts';
import {
  type AnswerLimits,
  abortable,
  type Http,
  type HttpAnswer,
  type HttpRequest,
  type HttpStream,
} from './http.ts';

export interface ApiCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly endpoint: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  readonly missing?: BillingError;
}

export type Api = ReturnType<typeof createApi>;

const TOKEN_LIMITS: AnswerLimits = { deadlineMs: 10_000, maxBodyBytes: 1024 * 1024 };

export function createApi(settings: Settings['service'], http: Http, onToken: (token: AccessToken) => void) {
  const { apiKey, apiKeyHeader } = settings;
  const withoutSecrets = createCleaner(settings);
  const tokens = createTokenSource(async () => {
    const token = await requestToken(settings, http, withoutSecrets);
    onToken(token);
    return token;
  });

  function url(path: string): string {
    if (settings.baseUrl === null) throw new BillingError('not-configured', ['BILLSYNC_BASE_URL']);
    return withoutTrailingSlash(settings.baseUrl) + path;
  }

  /** @throws BillingError `credentials-refused`: the service refused a fresh token as well */
  async function authorized<Answer extends HttpAnswer | HttpStream>(
    call: ApiCall,
    request: (request: HttpRequest) => Promise<Answer>,
  ): Promise<Answer> {
    const { method, path, accept = 'application/json', signal } = call;
    const attempt = async (secret: string, header: Readonly<Record<string, string>>) => {
      const headers = { ...call.headers, accept, ...header };
      const answer = withoutSecrets(await request({ url: url(path), method, signal, headers }), secret);
      return { answer, refusal: tokenRefusal(answer) };
    };
    const withToken = async () => {
      const token = await tokens.token(signal);
      const result = await attempt(token, { authorization: `Bearer ${token}` });
      if (result.refusal !== null) tokens.drop(token);
      return result;
    };
    let result = apiKey === null ? await withToken() : await attempt(apiKey, { [apiKeyHeader]: apiKey });
    // The token may have expired on the way, or been withdrawn: a fresh one is worth one attempt.
    if (result.refusal !== null && apiKey === null) result = await withToken();
    const { answer, refusal } = result;
    if (refusal !== null) {
      const credentials = apiKey === null ? 'a fresh access token' : 'the API key';
      throw credentialsRefused(credentials, answer.status, refusal);
    }
    if (answer.status === 404 && call.missing !== undefined) throw call.missing;
    return answer;
  }

  return {
    url,
    /** @returns the token's remaining seconds; null with an API key */
    async authorize(signal: AbortSignal | undefined): Promise<number | null> {
      url('');
      if (apiKey !== null) return null;
      await tokens.token(signal);
      return tokens.secondsLeft();
    },
    async json<T>(call: ApiCall, limits: AnswerLimits, parse: (body: Uint8Array) => T): Promise<T> {
      return parseAnswer(
        await authorized(call, (request) => http.send(request, limits)),
        call.endpoint,
        parse,
      );
    },
    async open(
      call: ApiCall,
      onHead: (answer: HttpAnswer | HttpStream) => void = () => undefined,
    ): Promise<HttpStream> {
      const answer = await authorized<HttpStream | HttpAnswer>(call, async (request) => {
        const stream = await http.open(request);
        return stream.status >= 200 && stream.status < 300 ? stream : readRefusal(stream, request);
      });
      return openAnswerAfter(answer, () => {
        onHead(answer);
        checkAnswer(answer, call.endpoint);
      });
    },
  };
}

function parseAnswer<T>(answer: HttpAnswer, endpoint: string, parse: (body: Uint8Array) => T): T {
  // Some services answer 202 with the complete result.
  if (answer.status !== 202 || answer.body.length === 0) checkAnswer(answer, endpoint);
  try {
    return parse(answer.body);
  } catch (error) {
    if (!(error instanceof MalformedAnswerError)) throw error;
    checkAnswer(answer, endpoint);
    throw new BillingError('unexpected-answer', [endpoint, error.message], { cause: error });
  }
}

type Cleaner = <Answer extends HttpAnswer | HttpStream>(answer: Answer, sent: string) => Answer;

/** Some services repeat the request in a refusal, whose text is stored and printed. */
function createCleaner(settings: Settings['service']): Cleaner {
  const scrub = createScrub({ service: settings });
  return (answer, sent) => {
    const { status, body } = answer;
    if (!(body instanceof Uint8Array) || (status < 400 && tokenError(body) === null)) return answer;
    const text = scrub(Buffer.from(body).toString('utf8').replaceAll(sent, '***'));
    return { ...answer, body: Buffer.from(text, 'utf8') };
  };
}

async function requestToken(
  settings: Settings['service'],
  http: Pick<Http, 'send'>,
  withoutSecrets: Cleaner,
): Promise<AccessToken> {
  const { authUrl, clientId, clientSecret } = settings;
  if (authUrl === null || clientId === null || clientSecret === null) {
    const needed = {
      BILLSYNC_AUTH_URL: authUrl,
      BILLSYNC_CLIENT_ID: clientId,
      BILLSYNC_CLIENT_SECRET: clientSecret,
    };
    const missing = Object.entries(needed).flatMap(([name, value]) => (value === null ? [name] : []));
    throw new BillingError('not-configured', [missing.join(' and ')]);
  }
  const headers = {
    accept: 'application/json',
    // The credentials are not form-encoded (RFC 6749), because the service's document is not; both differ for a secret with `+`, `/`, `=` or `:`.
    authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`, 'utf8').toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  };
  const url = `${withoutTrailingSlash(authUrl)}/oauth/token`;
  const request = { url, method: 'POST', headers, body: 'grant_type=client_credentials' } as const;
  const answer = withoutSecrets(await http.send(request, TOKEN_LIMITS), clientSecret);
  const { status } = answer;
  const isOk = status >= 200 && status < 300;
  const reason = isOk
    ? tokenError(answer.body)
    : status >= 400 && status < 500
      ? parseErrorBody(answer.body)
      : null;
  const isCredentials = reason?.code === 'invalid_client' || reason?.code === 'unauthorized_client';
  if (reason !== null && (isCredentials || status === 401 || status === 403)) {
    throw credentialsRefused('the client id and secret', status, reason);
  }
  if (isOk && reason !== null) {
    throw new BillingError('refused', ['the token endpoint', describeRefusal(status, reason)]);
  }
  return parseAnswer(answer, 'the token endpoint', parseToken);
}

function credentialsRefused(credentials: string, status: number, reason: ErrorBody): BillingError {
  return new BillingError('credentials-refused', [credentials, describeRefusal(status, reason)]);
}

/** The specification does not give the status of `invalid_token` (spec 7). */
function tokenRefusal({ status, body }: HttpAnswer | HttpStream): ErrorBody | null {
  if (status < 400 || status >= 500 || !(body instanceof Uint8Array)) return null;
  const reason = parseErrorBody(body);
  return status === 401 || reason.code === 'invalid_token' ? reason : null;
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

export function invoicePath(invoiceId: string): string {
  return `/api/v1/billing/invoices/${encodeURIComponent(invoiceId)}`;
}

/** A token is renewed when a fifth of its life or a minute is left, whichever is shorter. */
const RENEWED_SHARE = 0.2;
const MAX_RENEWED_MS = 60_000;

interface CurrentToken {
  readonly text: string;
  readonly expiresAtMs: number;
  readonly renewAtMs: number;
}

/** @param monotonicMs the monotonic clock, so that setting the clock of the machine does not prolong a token */
export function createTokenSource(
  fetch: () => Promise<Pick<AccessToken, 'accessToken' | 'expiresInSeconds'>>,
  monotonicMs: () => number = () => performance.now(),
) {
  let current: CurrentToken | null = null;
  let request: Promise<CurrentToken> | null = null;

  async function renew(): Promise<CurrentToken> {
    // The token's lifetime counts from before the request.
    const requestedAtMs = monotonicMs();
    const { accessToken, expiresInSeconds } = await fetch();
    rememberSecret(accessToken);
    const lifeMs = expiresInSeconds * 1_000;
    const expiresAtMs = requestedAtMs + lifeMs;
    const renewAtMs = expiresAtMs - Math.min(lifeMs * RENEWED_SHARE, MAX_RENEWED_MS);
    current = { text: accessToken, expiresAtMs, renewAtMs };
    return current;
  }

  return {
    /** Concurrent callers share one request; an abort ends only the caller's own wait. */
    async token(signal?: AbortSignal): Promise<string> {
      const before = current;
      if (before !== null && monotonicMs() < before.renewAtMs) return before.text;
      request ??= renew().finally(() => {
        request = null;
      });
      try {
        return (await abortable(request, signal)).text;
      } catch (error) {
        signal?.throwIfAborted();
        if (before !== null && before === current && monotonicMs() < before.expiresAtMs) return before.text;
        throw error;
      }
    },
    drop(refused: string): void {
      if (current?.text === refused) current = null;
    },
    secondsLeft: (): number => Math.max(0, ((current?.expiresAtMs ?? 0) - monotonicMs()) / 1_000),
  };
}
