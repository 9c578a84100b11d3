/** HTTPS as we speak it: redirects to the same place only, deadlines on everything, guarded addresses, typed failures. */

import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { ServerClock } from '../lib/health/clocks.ts';
import { decoded } from './decode-body.ts';
import {
  CONNECT_TIMEOUT_MS,
  type ConnectionOptions,
  createDispatchers,
  HEADERS_TIMEOUT_MS,
} from './dispatchers.ts';
import {
  BillingError,
  DeadlineExceededError,
  HostNotAllowedError,
  ProxyError,
  UnreachableError,
} from './errors.ts';
import { createPauses } from './pauses.ts';
import { MOST_REDIRECTS, redirected } from './redirects.ts';

/** Before a request that a proxy dropped is sent once more. */
const PROXY_PAUSE_MS = 1_000;

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

export interface HttpOptions extends ConnectionOptions {
  /** Told the `Date` of each answer of the service. */
  readonly clock?: ServerClock;
}

interface AnswerLimits {
  readonly deadlineMs: number;
  readonly maxBodyBytes: number;
}

export interface Http {
  /** The whole answer, decoded, whatever its status. */
  send(request: HttpRequest, limits: AnswerLimits): Promise<HttpAnswer>;
  /** The answer's head, its body still to be read and decoded; the request's signal goes on ruling over it. */
  open(request: HttpRequest): Promise<HttpStream>;
  /** Makes further requests to this host fail with OverloadedError until it has had its rest. */
  leaveAlone(url: string, asked: { readonly status: number; readonly seconds: number }): void;
  close(): Promise<void>;
}

/**
 * @param options base address, CA, client certificate, proxy and the guard of addresses; one per account
 * @returns requests that fail with the classes of `billing/errors.ts` and no others
 */
export function createHttp(options: HttpOptions): Http {
  const dispatchers = createDispatchers(options);
  const { baseUrl, authUrl, clock } = options;
  const ofService = new Set([baseUrl, authUrl].flatMap((url) => (url === null ? [] : [hostOf(url)])));
  const pauses = createPauses();

  async function open(request: HttpRequest): Promise<HttpStream> {
    for (let asked = request, hops = 0; ; hops += 1) {
      const answer = await openOnce(asked);
      const next = hops < MOST_REDIRECTS ? redirected(asked, answer) : null;
      if (next === null) return answer;
      answer.body.on('error', () => undefined).destroy();
      asked = next;
    }
  }

  async function openOnce(request: HttpRequest): Promise<HttpStream> {
    const url = new URL(request.url);
    if (url.protocol !== 'https:') throw new HostNotAllowedError(url.host, 'not-https');
    await pauses.respect(url.host, request.signal);
    try {
      const dispatcher = await dispatchers.dispatcherFor(url);
      const sentAt = performance.now();
      const asked = dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: request.method,
        headers: { 'user-agent': 'billsync', 'accept-encoding': 'identity', ...request.headers },
        ...(request.body === undefined ? {} : { body: request.body }),
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
      const { statusCode, headers: fields, body } = await untilAborted(asked, request.signal);
      const headers = joined(fields);
      // The Date of an answer from a cache is old, and storage may have another clock.
      if (ofService.has(url.host) && headers.age === undefined) clock?.answered(headers.date, sentAt);
      return { status: statusCode, headers, body };
    } catch (error) {
      throw asBillingError(error, request);
    }
  }

  return {
    open,
    async send(request, limits) {
      try {
        return await sendOnce(open, request, limits);
      } catch (error) {
        // Every call of ours may be repeated.
        if (error instanceof ProxyError && error.isLost) {
          await setTimeout(PROXY_PAUSE_MS, undefined, { signal: request.signal });
        } else if (!(error instanceof UnreachableError && isLostConnection(error.systemCode))) {
          throw error;
        }
        // A kept connection that the server has just closed needs no pause.
        return sendOnce(open, request, limits);
      }
    },
    leaveAlone: (url, asked) => pauses.note(hostOf(url), asked),
    close: () => dispatchers.close(),
  };
}

/** Our deadlines hold whatever the library does with a request that it cannot place on a connection. */
async function untilAborted(
  asked: Promise<Dispatcher.ResponseData>,
  signal: AbortSignal | undefined,
): Promise<Dispatcher.ResponseData> {
  if (signal === undefined) return asked;
  const gone = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true, signal: gone.signal });
  });
  try {
    return await Promise.race([asked, aborted]);
  } catch (error) {
    asked.then(({ body }) => body.on('error', () => undefined).destroy()).catch(() => undefined);
    throw error;
  } finally {
    gone.abort();
  }
}

/** The whole answer within its deadline. */
async function sendOnce(
  open: Http['open'],
  request: HttpRequest,
  { deadlineMs, maxBodyBytes }: AnswerLimits,
): Promise<HttpAnswer> {
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = request.signal === undefined ? deadline : AbortSignal.any([request.signal, deadline]);
  try {
    const { status, headers, body } = await open({ ...request, signal });
    const limits = { endpoint: hostOf(request.url), maxBytes: maxBodyBytes };
    const bytes = decoded(body as AsyncIterable<Uint8Array>, headers, limits);
    return { status, headers, body: await readWhole(bytes) };
  } catch (error) {
    request.signal?.throwIfAborted();
    if (deadline.aborted) {
      throw new DeadlineExceededError(hostOf(request.url), `did not answer within ${deadlineMs / 1_000} s`);
    }
    throw asBillingError(error, request);
  }
}

/** A header that comes twice is one list (RFC 9110, 5.3); undici gives an array, which no reader of a header expects. */
function joined(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const fields = Object.entries(headers);
  return Object.fromEntries(
    fields.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  );
}

/** Host and port of a URL, for messages: nothing else of a URL may be shown. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'unknown host';
}

/** Turns what undici, TLS and the resolver throw into one of ours; ours and an abort's reason pass as they are. */
export function asBillingError(error: unknown, request: Pick<HttpRequest, 'url' | 'signal'>): unknown {
  if (error instanceof BillingError) return error;
  if (request.signal?.aborted === true) return request.signal.reason;
  const host = hostOf(request.url);
  const code = codeOf(error) ?? codeOf(error instanceof Error ? error.cause : undefined);
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new DeadlineExceededError(
      host,
      `did not accept a connection within ${CONNECT_TIMEOUT_MS / 1_000} s`,
    );
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') {
    return new DeadlineExceededError(host, `sent nothing for ${HEADERS_TIMEOUT_MS / 1_000} s`);
  }
  return new UnreachableError(host, code, error);
}

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function isLostConnection(systemCode: string | null): boolean {
  return systemCode === 'UND_ERR_SOCKET' || systemCode === 'ECONNRESET' || systemCode === 'EPIPE';
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
