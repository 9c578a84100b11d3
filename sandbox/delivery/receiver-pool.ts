/** Connections to partner endpoints: kept alive, limited, and separate for each registration. */

import { Readable } from 'node:stream';
import { type Dispatcher, Pool } from 'undici';
import { DELIVERY_CONTENT_TYPE, DELIVERY_METHOD, DELIVERY_USER_AGENT } from '../choices.ts';
import type { DeliveryAttempt, Registration } from '../model.ts';

export interface Post {
  readonly body: string;
  /** Faults: break off in the middle of the body, or before it. */
  readonly cutOff: boolean;
  readonly reset: boolean;
}

/** Where and how to send to a registration. */
interface Target {
  readonly line: Line;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Line {
  readonly pool: Pool;
  readonly waiting: ((release: Release) => void)[];
  /** Gives a connection back, to who has waited longest for one. */
  readonly release: Release;
  busy: number;
}

export type Release = () => void;

/** Requests under way at one receiver; a slow one holds up only itself. More would only shake more hands. */
const CONNECTIONS = 16;
/** The client's own limits come after ours, so that there is one that decides. */
const GRACE_MS = 5_000;

export class ReceiverPool {
  readonly #lines = new Map<string, Line>();
  /** Data that is computed once per registration; an edited registration is another object. */
  #targets = new WeakMap<Registration, Target>();
  readonly #timeoutMs: number;

  /** @param timeoutMs how long a request may take, connecting included */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Calls back when there is a free connection, never before the caller is through, with the function that gives it
   * back. Thousands may wait in a burst: a function is all that each of them keeps.
   *
   * @returns how many wait for a connection of this registration, the caller among them; 0 when it has one
   */
  whenFree(registration: Registration, go: (release: Release) => void): number {
    const { line } = this.#target(registration);
    if (line.busy >= CONNECTIONS) return line.waiting.push(go);
    line.busy += 1;
    queueMicrotask(() => go(line.release));
    return 0;
  }

  /** Sends one request; a 2xx answer has no error (spec 4.6). Redirects are not followed. */
  async post(registration: Registration, { body, cutOff, reset }: Post): Promise<PostResult> {
    if (reset) return { status: null, error: 'The connection was reset (fault).', responseBody: '' };
    const { line, path, headers } = this.#target(registration);
    const bytes = Buffer.from(body);
    const request = {
      method: DELIVERY_METHOD,
      path,
      headers: cutOff ? { ...headers, 'content-length': String(bytes.length) } : headers,
      body: cutOff ? Readable.from(firstHalf(bytes), { objectMode: false }) : bytes,
    } as const;
    return postOnce(line.pool, request, this.#timeoutMs);
  }

  /** Breaks every connection; what is under way ends with an error. The next request connects anew. */
  async close(): Promise<void> {
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    this.#targets = new WeakMap();
    for (const { waiting, release } of lines) for (const go of waiting.splice(0)) go(release);
    await Promise.all(lines.map(({ pool }) => pool.destroy()));
  }

  #target(registration: Registration): Target {
    let target = this.#targets.get(registration);
    if (target === undefined) {
      const { origin, pathname, search } = new URL(registration.url);
      const line = this.#line(registration, origin);
      target = { line, path: `${pathname}${search}`, headers: headersOf(registration) };
      this.#targets.set(registration, target);
    }
    return target;
  }

  #line({ registrationId, url, caPem }: Registration, origin: string): Line {
    const key = `${registrationId} ${url} ${caPem ?? ''}`;
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = createLine(this.#createPool(origin, caPem));
      this.#lines.set(key, line);
    }
    return line;
  }

  /**
   * Without a CA of its own, any certificate is accepted: endpoints under rehearsal are on laptops and sign
   * themselves. A registration with `caPem` is verified as the real service would.
   */
  #createPool(origin: string, caPem: string | null): Pool {
    const trust = caPem === null ? { rejectUnauthorized: false } : { ca: caPem };
    const timeout = this.#timeoutMs + GRACE_MS;
    return new Pool(origin, {
      connections: CONNECTIONS,
      pipelining: 1,
      connect: { ...trust, timeout },
      headersTimeout: timeout,
      bodyTimeout: timeout,
    });
  }
}

function createLine(pool: Pool): Line {
  const release = () => {
    const next = line.waiting.shift();
    if (next === undefined) line.busy -= 1;
    else next(release);
  };
  const line: Line = { pool, waiting: [], release, busy: 0 };
  return line;
}

/** Custom headers win over ours, whatever their case (spec 2.3). */
function headersOf(registration: Registration): Readonly<Record<string, string>> {
  const own = { 'content-type': DELIVERY_CONTENT_TYPE, 'user-agent': DELIVERY_USER_AGENT };
  const custom = Object.entries(registration.headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...own, ...(Object.fromEntries(custom) as Record<string, string>) };
}

async function* firstHalf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2));
  throw new Error('The connection broke off inside the body (fault).');
}

// One request to a partner endpoint, and its outcome. Uses undici's dispatch directly, because streams and abort signals are most of the cost of a
// delivery in a burst.

export interface PostRequest {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | Readable;
}

export type PostResult = Pick<DeliveryAttempt, 'status' | 'error' | 'responseBody'>;

/** More of an answer is not read; the status has been said by then. */
const READ_RESPONSE_BYTES = 256 * 1024;
const KEPT_RESPONSE_CHARACTERS = 2_000;

/**
 * Resolves when the answer is complete or cannot come any more; a 2xx answer has no error (spec 4.6).
 *
 * @param timeoutMs from now, connecting included, to the last byte of the answer
 */
export function postOnce(
  dispatcher: Dispatcher,
  request: PostRequest,
  timeoutMs: number,
): Promise<PostResult> {
  return new Promise((resolve) => {
    const exchange = new Exchange(resolve, timeoutMs);
    dispatcher.dispatch(request, exchange);
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #settle: (result: PostResult) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | null = null;
  #length = 0;
  #status: number | null = null;
  #over = false;

  constructor(settle: (result: PostResult) => void, timeoutMs: number) {
    this.#settle = settle;
    this.#timer = setTimeout(() => this.#giveUp(timeoutMs), timeoutMs);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#over) controller.abort(new Error('The time was up before there was a connection.'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (this.#length <= READ_RESPONSE_BYTES) return;
    this.#answered();
    controller.abort(new Error('The rest of the answer is of no interest.'));
  }

  onResponseEnd(): void {
    this.#answered();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end({ status: null, error: messageOf(error), responseBody: '' });
  }

  #giveUp(timeoutMs: number): void {
    const error = `No answer within ${timeoutMs / 1_000} s.`;
    this.#end({ status: null, error, responseBody: '' });
    this.#controller?.abort(new Error(error));
  }

  #answered(): void {
    const status = this.#status;
    const ok = status !== null && status >= 200 && status <= 299;
    const text = Buffer.concat(this.#chunks).toString('utf8');
    const responseBody = text.slice(0, KEPT_RESPONSE_CHARACTERS);
    this.#end({ status, error: ok ? null : `The endpoint answered ${status}.`, responseBody });
  }

  #end(result: PostResult): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#settle(result);
  }
}

function messageOf(error: Error): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && !error.message.includes(code)
    ? `${code}: ${error.message}`
    : error.message;
}
