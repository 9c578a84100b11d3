/** The connections to partner endpoints: kept alive, bounded, and apart for each registration. */
import { Readable } from 'node:stream';
import { Pool } from 'undici';
import { DELIVERY_CONTENT_TYPE, DELIVERY_METHOD, DELIVERY_USER_AGENT } from './choices.js';
import type { DeliveryAttempt, Registration } from './model.js';

export interface Post {
  readonly body: string;
  /** From the first byte of the request to the last of the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Faults: break off in the middle of the body, or before it. */
  readonly cutOff: boolean;
  readonly reset: boolean;
}

type PostResult = Pick<DeliveryAttempt, 'status' | 'error' | 'responseBody'>;

interface Line {
  readonly pool: Pool;
  readonly waiting: (() => void)[];
  busy: number;
}

/** Requests under way at one receiver; a slow one holds up only itself. More would only shake more hands. */
const CONNECTIONS = 16;
const KEPT_RESPONSE_CHARACTERS = 2_000;
const READ_RESPONSE_BYTES = 256 * 1024;

export class ReceiverPool {
  readonly #lines = new Map<string, Line>();

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
  async post(
    registration: Registration,
    { body, timeoutMs, signal, cutOff, reset }: Post,
  ): Promise<PostResult> {
    if (reset) return { status: null, error: 'The connection was reset (fault).', responseBody: '' };
    const url = new URL(registration.url);
    const bytes = Buffer.from(body);
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const response = await this.#line(registration).pool.request({
        method: DELIVERY_METHOD,
        path: `${url.pathname}${url.search}`,
        headers: headersOf(registration, bytes.length),
        body: cutOff ? Readable.from(firstHalf(bytes), { objectMode: false }) : bytes,
        signal: AbortSignal.any([signal, deadline]),
      });
      const responseBody = await readBeginning(response.body);
      const ok = response.statusCode >= 200 && response.statusCode <= 299;
      const error = ok ? null : `The endpoint answered ${response.statusCode}.`;
      return { status: response.statusCode, error, responseBody };
    } catch (error) {
      const message = deadline.aborted ? `No answer within ${timeoutMs / 1_000} s.` : messageOf(error);
      return { status: null, error: message, responseBody: '' };
    }
  }

  async close(): Promise<void> {
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    for (const { waiting } of lines) for (const go of waiting.splice(0)) go();
    await Promise.all(lines.map(({ pool }) => pool.destroy()));
  }

  #line(registration: Registration): Line {
    const { origin } = new URL(registration.url);
    const key = JSON.stringify([registration.registrationId, origin, registration.caPem]);
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { pool: createPool(origin, registration.caPem), waiting: [], busy: 0 };
      this.#lines.set(key, line);
    }
    return line;
  }
}

/**
 * Without a CA of its own, any certificate is accepted: endpoints under rehearsal are on laptops and sign
 * themselves. A registration with `caPem` is verified as the real service would.
 */
function createPool(origin: string, caPem: string | null): Pool {
  const connect = caPem === null ? { rejectUnauthorized: false } : { ca: caPem };
  return new Pool(origin, { connections: CONNECTIONS, pipelining: 1, connect });
}

/** Custom headers win over ours, whatever their case (spec 2.3). */
function headersOf({ headers }: Registration, length: number): Record<string, string> {
  const own = { 'content-type': DELIVERY_CONTENT_TYPE, 'user-agent': DELIVERY_USER_AGENT };
  const custom = Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]));
  return { ...own, ...custom, 'content-length': String(length) };
}

async function readBeginning(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > READ_RESPONSE_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, KEPT_RESPONSE_CHARACTERS);
}

async function* firstHalf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2));
  throw new Error('The connection broke off inside the body (fault).');
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return typeof code === 'string' && !error.message.includes(code)
    ? `${code}: ${error.message}`
    : error.message;
}
