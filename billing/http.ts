import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type Dispatcher, errors } from 'undici';
import { type ComparedClock, createServerClock } from '../lib/health/clocks.ts';
import { rememberQuery } from '../lib/log/passing-secrets.ts';
import type { Metrics } from '../lib/metrics.ts';
import { systemCode } from '../lib/system-errors.ts';
import { targetOf } from './address-guard.ts';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionOptions,
  createDispatchers,
  HEADERS_TIMEOUT_MS,
  MAX_HEADERS_BYTES,
} from './connections.ts';
import { decoded } from './decode-body.ts';
import { BillingError, isBillingError, isLostConnection, tryLater, unreachable } from './errors.ts';

export interface HttpRequest {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

export interface HttpStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Dispatcher.ResponseData['body'];
}

export interface AnswerLimits {
  /** The time limit in milliseconds, from the start of the call to the end of its answer. */
  readonly deadlineMs: number;
  readonly maxBodyBytes: number;
}

/**
 * Throws only BillingError or the reason of the request's signal. After a 429 or 503 with Retry-After, requests for the same file or
 * invoice wait, or fail with `overloaded`, until the time is over; once the host refuses several, all requests to it do.
 */
export interface Http {
  send(request: HttpRequest, limits: AnswerLimits): Promise<HttpAnswer>;
  /** Resolves with an answer whose body is still encoded, and to which the request's signal still applies. */
  open(request: HttpRequest): Promise<HttpStream>;
  readonly clock: ComparedClock;
  close(): Promise<void>;
}

const MAX_REDIRECTS = 3;
const RETRY_AFTER_MS = 500;
/** A service that requests a longer pause is mistaken or hostile, so a pause ends after this time. */
const MAX_PAUSE_SECONDS = 300;
/** A pause up to this time delays the request; a longer one makes it fail. */
const MAX_WAITED_MS = 3_000;
const CLOCK_LIMITS = { deadlineMs: 10_000, maxBodyBytes: 1024 * 1024 };

export function createHttp(options: ConnectionOptions & { readonly metrics?: Metrics | undefined }): Http {
  const dispatchers = createDispatchers(options);
  const { baseUrl, authUrl } = options;
  const serviceHosts = new Set([baseUrl, authUrl].flatMap((url) => (url === null ? [] : [hostOf(url)])));
  const clock = createServerClock();
  const counted = createCounter(options.metrics);
  const pauses = createPauses();

  async function open(request: HttpRequest): Promise<HttpStream> {
    for (let current = request, hops = 0; ; hops += 1) {
      const answer = await openOnce(current);
      const next = hops < MAX_REDIRECTS ? redirected(current, answer) : null;
      if (next === null) return answer;
      discardBody(answer.body);
      current = next;
    }
  }

  async function openOnce(request: HttpRequest): Promise<HttpStream> {
    const { url, path } = targetOf(request.url);
    rememberQuery(path);
    const subject = { host: url.host, path: path.replace(/\?.*$/s, '') };
    await waitForPause(subject, request.signal);
    try {
      const dispatcher = await dispatchers.dispatcherFor(url);
      const sentAt = performance.now();
      const answering = dispatcher.request({
        origin: url.origin,
        path,
        method: request.method,
        headers: { 'user-agent': 'billsync', 'accept-encoding': 'identity', ...request.headers },
        ...(request.body === undefined ? {} : { body: request.body }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
      // A signal does not end a request that still waits for a connection of the pool.
      answering.catch(() => undefined);
      const {
        statusCode,
        headers: fields,
        body,
      } = await abortable(answering, request.signal).catch((error: unknown) => {
        answering.then((answer) => discardBody(answer.body)).catch(() => undefined);
        throw error;
      });
      const headers = joinRepeatedHeaders(fields);
      // A cached answer has an old Date, and storage may have another clock.
      if (serviceHosts.has(url.host) && headers.age === undefined) clock.answered(headers.date, sentAt);
      pauses.answered(subject, statusCode, headers['retry-after']);
      return { status: statusCode, headers, body };
    } catch (error) {
      throw toBillingError(error, request);
    }
  }

  async function waitForPause(subject: Subject, signal: AbortSignal | undefined): Promise<void> {
    const pause = pauses.of(subject);
    const leftMs = (pause?.untilMs ?? 0) - performance.now();
    if (pause === null || leftMs <= 0) return;
    if (leftMs > MAX_WAITED_MS) throw tryLater(subject.host, pause.status, Math.ceil(leftMs / 1_000));
    await setTimeout(leftMs, undefined, { ...(signal === undefined ? {} : { signal }) });
  }

  async function sendOnce(request: HttpRequest, limits: AnswerLimits): Promise<HttpAnswer> {
    const deadline = AbortSignal.timeout(limits.deadlineMs);
    const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
    try {
      const { status, headers, body } = await open({ ...request, signal });
      const bounds = { endpoint: hostOf(request.url), maxBytes: limits.maxBodyBytes };
      const chunks = await Array.fromAsync(decoded(body as AsyncIterable<Uint8Array>, headers, bounds));
      return { status, headers, body: Buffer.concat(chunks) };
    } catch (error) {
      request.signal?.throwIfAborted();
      if (deadline.aborted) {
        throw new BillingError('deadline-exceeded', [
          hostOf(request.url),
          `did not answer within ${limits.deadlineMs / 1_000} s`,
        ]);
      }
      throw toBillingError(error, request);
    }
  }

  /** Every call may be repeated, so one whose connection was lost is sent again once. */
  async function send(request: HttpRequest, limits: AnswerLimits): Promise<HttpAnswer> {
    try {
      return await sendOnce(request, limits);
    } catch (error) {
      const isLost = isBillingError(error, 'unreachable') && isLostConnection(codeIn(error.cause));
      if (!isLost) throw error;
      await setTimeout(RETRY_AFTER_MS);
      request.signal?.throwIfAborted();
      return sendOnce(request, limits);
    }
  }

  return {
    send: (request, limits) => counted(request.url, () => send(request, limits)),
    open: (request) => counted(request.url, () => open(request)),
    clock: {
      name: 'the billing service',
      aheadMs: clock.aheadMs,
      async request() {
        // An answer with any status has a Date, so neither an endpoint nor credentials are needed.
        if (baseUrl !== null) await send({ url: baseUrl, method: 'GET' }, CLOCK_LIMITS);
      },
    },
    close: () => dispatchers.close(),
  };
}

interface Subject {
  readonly host: string;
  readonly path: string;
}

interface Pause {
  readonly untilMs: number;
  readonly status: number;
}

/** When a host refuses so many files or invoices in a row, the refusal is taken for one of the whole host. */
const REFUSED_IN_A_ROW = 3;

/**
 * Times are those of `performance.now()`. A refusal is about its file or invoice only, until the host refuses others too without
 * another answer in between.
 */
export function createPauses() {
  const hosts = new Map<string, { readonly pauses: Map<string, Pause>; readonly inARow: Set<string> }>();
  return {
    answered({ host, path }: Subject, status: number, retryAfter: string | undefined): void {
      const known = hosts.get(host);
      if (status !== 429 && status !== 503) {
        known?.inARow.clear();
        return;
      }
      const seconds = Math.min(readRetryAfter(retryAfter) ?? 0, MAX_PAUSE_SECONDS);
      if (seconds === 0) return;
      const { pauses, inARow } = known ?? { pauses: new Map<string, Pause>(), inARow: new Set<string>() };
      hosts.set(host, { pauses, inARow });
      const nowMs = performance.now();
      for (const [name, { untilMs }] of pauses) if (untilMs <= nowMs) pauses.delete(name);
      const name = nameOf(path);
      pauses.set(name, { untilMs: nowMs + seconds * 1_000, status });
      inARow.add(name);
    },
    of({ host, path }: Subject): Pause | null {
      const { pauses, inARow } = hosts.get(host) ?? {};
      if (pauses === undefined || inARow === undefined) return null;
      const nowMs = performance.now();
      const isOpen = (pause: Pause | undefined): pause is Pause =>
        pause !== undefined && pause.untilMs > nowMs;
      // A pause of its own that is over does not hide that of the service.
      const own = [pauses.get(nameOf(path)), pauses.get('')].find(isOpen) ?? null;
      if (own !== null || inARow.size < REFUSED_IN_A_ROW) return own;
      const confirmed = [...inARow].flatMap((name) => pauses.get(name) ?? []);
      return confirmed.toSorted((a, b) => a.untilMs - b.untilMs)[0] ?? null;
    },
  };
}

/** Returns the invoice of a call, or the path of a file; empty for a call that is about the service as a whole. */
function nameOf(path: string): string {
  const [, invoice] = /\/api\/v1\/billing\/invoices\/([^/]+)/.exec(path) ?? [];
  if (invoice !== undefined) return invoice;
  return /\/(?:oauth\/token|ping)$/.test(path) ? '' : path;
}

/** 301 and 302 may turn a POST into a GET, 303 always does. */
const KEEPS_METHOD = new Set([307, 308]);
const REDIRECTS = new Set([301, 302, 303, ...KEEPS_METHOD]);

/**
 * Returns null for a redirect that is not followed (ADR 10). A token, client certificate and presigned URL are for their scheme,
 * host and port alone.
 */
function redirected(request: HttpRequest, { status, headers }: HttpStream): HttpRequest | null {
  if (!REDIRECTS.has(status) || (request.method !== 'GET' && !KEEPS_METHOD.has(status))) return null;
  const { url } = targetOf(request.url);
  const { location = '' } = headers;
  // The text is kept where it is complete, as that of a presigned URL is.
  const [, path] = /^(?:https:\/\/[^/?#\\]+)?(\/(?!\/).*)$/is.exec(location) ?? [];
  const target = URL.parse(location, request.url);
  if (location === '' || target?.origin !== url.origin) return null;
  return { ...request, url: path === undefined ? target.href : url.origin + path };
}

/** @throws the signal's reason as soon as it aborts; the promise continues */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const settled = new AbortController();
  const aborted = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => aborted.reject(signal.reason), { signal: settled.signal });
  return Promise.race([promise, aborted.promise]).finally(() => settled.abort());
}

export function discardBody(body: HttpStream['body']): void {
  body.on('error', () => undefined).destroy();
}

function joinRepeatedHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const fields = Object.entries(headers);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

/** Reads seconds, or an HTTP date (RFC 9110, 10.2.3), as seconds rounded up; null when the header is absent or unreadable. */
export function readRetryAfter(header: string | undefined, nowMs = Date.now()): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - nowMs) / 1_000));
}

export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? 'unknown host';
}

export function toBillingError(error: unknown, request: Pick<HttpRequest, 'url' | 'signal'>): unknown {
  if (error instanceof BillingError) return error;
  if (request.signal?.aborted === true) return request.signal.reason;
  const host = hostOf(request.url);
  const code = codeIn(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    const problem = `did not accept a connection within ${CONNECT_TIMEOUT_MS / 1_000} s`;
    return new BillingError('deadline-exceeded', [host, problem], { cause: error });
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    const problem = `sent nothing for ${HEADERS_TIMEOUT_MS / 1_000} s`;
    return new BillingError('deadline-exceeded', [host, problem]);
  }
  const notUnderstood = notUnderstoodReason(error);
  if (notUnderstood !== null)
    return new BillingError('unexpected-answer', [host, notUnderstood], { cause: error });
  return unreachable(host, code, error);
}

/** Returns a reason when the host was reached, so that address and network are right; null when it was not. */
function notUnderstoodReason(error: unknown): string | null {
  if (error instanceof errors.HeadersOverflowError) {
    return `the headers of its answer exceed ${MAX_HEADERS_BYTES / 1024} KiB.`;
  }
  return error instanceof errors.HTTPParserError
    ? `its answer breaks the rules of HTTP: ${error.message}.`
    : null;
}

function codeIn(error: unknown): string | null {
  return systemCode(error) ?? systemCode(error instanceof Error ? error.cause : undefined);
}

const ENDPOINTS: readonly (readonly [RegExp, string])[] = [
  [/\/oauth\/token$/, 'token'],
  [/\/api\/v1\/deliveryexperience\/ping$/, 'ping'],
  [/\/api\/v1\/billing\/invoices\/[^/]+\/regenerate-presigned-url$/, 'regenerate'],
  [/\/api\/v1\/billing\/invoices\/[^/]+\/export-csv$/, 'export-csv'],
  [/\/api\/v1\/billing\/invoices\/[^/]+$/, 'details'],
];

type Counter = <T extends { readonly status: number }>(url: string, call: () => Promise<T>) => Promise<T>;

function createCounter(metrics: Metrics | undefined): Counter {
  if (metrics === undefined) return (_url, call) => call();
  const calls = metrics.counter('service_calls_total');
  const seconds = metrics.histogram('service_call_seconds');
  return async (url, call) => {
    const path = URL.parse(url)?.pathname ?? '';
    const endpoint = ENDPOINTS.find(([pattern]) => pattern.test(path))?.[1] ?? 'storage';
    const stop = seconds.startTimer({ endpoint });
    let answer = 'aborted';
    try {
      const answered = await call();
      answer = String(answered.status);
      return answered;
    } catch (error) {
      if (error instanceof BillingError) answer = error.code;
      throw error;
    } finally {
      stop();
      calls.inc({ endpoint, answer });
    }
  };
}
