/** The connections to partner endpoints: kept alive, bounded, and apart for each registration. */
import { Readable } from 'node:stream';
import { Pool } from 'undici';
import { DELIVERY_CONTENT_TYPE, DELIVERY_METHOD, DELIVERY_USER_AGENT } from './choices.js';
import type { Registration } from './model.js';
import { type PostResult, postOnce } from './post-once.js';

export interface Post {
  readonly body: string;
  /** Faults: break off in the middle of the body, or before it. */
  readonly cutOff: boolean;
  readonly reset: boolean;
}

interface Line {
  readonly pool: Pool;
  readonly path: string;
  readonly waiting: (() => void)[];
  busy: number;
}

/** Requests under way at one receiver; a slow one holds up only itself. More would only shake more hands. */
const CONNECTIONS = 16;
/** The client's own limits come after ours, so that there is one that decides. */
const GRACE_MS = 5_000;

export class ReceiverPool {
  readonly #lines = new Map<string, Line>();
  /** A registration that is edited is another object. */
  readonly #headers = new WeakMap<Registration, Readonly<Record<string, string>>>();
  readonly #timeoutMs: number;

  /** @param timeoutMs how long a request may take, connecting included */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** Waits for a free connection; the caller releases it with the returned function. */
  async slot(registration: Registration): Promise<() => void> {
    const line = this.#line(registration);
    if (line.busy >= CONNECTIONS) await new Promise<void>((resolve) => line.waiting.push(resolve));
    else line.busy += 1;
    return () => {
      const next = line.waiting.shift();
      if (next === undefined) line.busy -= 1;
      else next();
    };
  }

  /** Sends one request; a 2xx answer has no error (spec 4.6). Redirects are not followed. */
  async post(registration: Registration, { body, cutOff, reset }: Post): Promise<PostResult> {
    if (reset) return { status: null, error: 'The connection was reset (fault).', responseBody: '' };
    const { pool, path } = this.#line(registration);
    const bytes = Buffer.from(body);
    const request = {
      method: DELIVERY_METHOD,
      path,
      headers: { ...this.#headersOf(registration), 'content-length': String(bytes.length) },
      body: cutOff ? Readable.from(firstHalf(bytes), { objectMode: false }) : bytes,
    } as const;
    return postOnce(pool, request, this.#timeoutMs);
  }

  /** Breaks every connection; what is under way ends with an error. The next request connects anew. */
  async close(): Promise<void> {
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    for (const { waiting } of lines) for (const go of waiting.splice(0)) go();
    await Promise.all(lines.map(({ pool }) => pool.destroy()));
  }

  /** Custom headers win over ours, whatever their case (spec 2.3). */
  #headersOf(registration: Registration): Readonly<Record<string, string>> {
    const known = this.#headers.get(registration);
    if (known !== undefined) return known;
    const own = { 'content-type': DELIVERY_CONTENT_TYPE, 'user-agent': DELIVERY_USER_AGENT };
    const custom = Object.entries(registration.headers).map(([name, value]) => [name.toLowerCase(), value]);
    const headers = { ...own, ...(Object.fromEntries(custom) as Record<string, string>) };
    this.#headers.set(registration, headers);
    return headers;
  }

  #line({ registrationId, url, caPem }: Registration): Line {
    const key = `${registrationId} ${url} ${caPem ?? ''}`;
    let line = this.#lines.get(key);
    if (line === undefined) {
      const { origin, pathname, search } = new URL(url);
      const pool = this.#createPool(origin, caPem);
      line = { pool, path: `${pathname}${search}`, waiting: [], busy: 0 };
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

async function* firstHalf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2));
  throw new Error('The connection broke off inside the body (fault).');
}
