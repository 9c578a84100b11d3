import { Readable } from 'node:stream';
import { Pool } from 'undici';
import { DELIVERY_CONTENT_TYPE, DELIVERY_METHOD, DELIVERY_USER_AGENT } from '../choices.ts';
import type { DeliveryAttempt, Registration } from '../model.ts';

export type AttemptResult = Pick<DeliveryAttempt, 'status' | 'error' | 'responseBody'>;

/** Each endpoint has this many connections, so that a slow endpoint delays only its own deliveries. */
const CONNECTIONS = 16;
const MAX_RESPONSE_BYTES = 256 * 1024;
const MAX_LOGGED_CHARACTERS = 2_000;

export class Receiver {
  readonly #pool: Pool;
  readonly #timeoutMs: number;
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  /**
   * Without a CA of its own, a registration accepts any certificate: endpoints under test are often self-signed.
   * @param timeoutMs connecting included
   */
  constructor({ url, caPem }: Registration, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    const trust = caPem === null ? { rejectUnauthorized: false } : { ca: caPem };
    this.#pool = new Pool(new URL(url).origin, {
      connections: CONNECTIONS,
      pipelining: 1,
      connect: { ...trust, timeout: timeoutMs },
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Calls that wait for a connection get one in the order in which they were made. */
  async withConnection<T>(work: () => Promise<T>): Promise<T> {
    if (this.#busy < CONNECTIONS) this.#busy += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#busy -= 1;
      else next();
    }
  }

  /** A 2xx answer has no error (spec 4.6). Redirects are not followed. @param cutOff the connection breaks inside the body */
  async post({ url, headers }: Registration, body: string, cutOff: boolean): Promise<AttemptResult> {
    const { pathname, search } = new URL(url);
    const bytes = Buffer.from(body);
    try {
      const response = await this.#pool.request({
        method: DELIVERY_METHOD,
        path: `${pathname}${search}`,
        headers: { ...headersOf(headers), 'content-length': String(bytes.length) },
        body: cutOff ? Readable.from(firstHalf(bytes), { objectMode: false }) : bytes,
        signal: AbortSignal.timeout(this.#timeoutMs),
      });
      const responseBody = await startOf(response.body);
      const status = response.statusCode;
      const isAccepted = status >= 200 && status <= 299;
      return { status, error: isAccepted ? null : `The endpoint answered ${status}.`, responseBody };
    } catch (error) {
      return { status: null, error: this.#describe(error as Error), responseBody: '' };
    }
  }

  /** Closing ends requests in progress with an error. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #describe(error: Error): string {
    if (error.name === 'TimeoutError') return `No answer within ${this.#timeoutMs / 1_000} s.`;
    const { code } = error as NodeJS.ErrnoException;
    return code === undefined || error.message.includes(code) ? error.message : `${code}: ${error.message}`;
  }
}

/** Custom headers replace ours, whatever their case (spec 2.3). */
function headersOf(custom: Registration['headers']): Record<string, string> {
  const lowerCase = Object.entries(custom).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    'content-type': DELIVERY_CONTENT_TYPE,
    'user-agent': DELIVERY_USER_AGENT,
    ...(Object.fromEntries(lowerCase) as Record<string, string>),
  };
}

async function* firstHalf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes.subarray(0, Math.floor(bytes.length / 2));
  throw new Error('The connection broke off inside the body (fault).');
}

/** Only the start of a long answer is read. */
async function startOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, MAX_LOGGED_CHARACTERS);
}
