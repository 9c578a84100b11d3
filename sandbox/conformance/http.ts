/** Requests of the suite have no retries, redirects or decompression, so that a rule sees the answer unchanged. */

import { isLosslessNumber, parse } from 'lossless-json';
import { Agent, request } from 'undici';

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  /** Header names are in lower case; repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';

  constructor(url: string, cause: unknown) {
    super(`${URL.parse(url)?.origin ?? url} does not answer: ${reasonOf(cause)}`, { cause });
  }
}

const ANSWER_TIMEOUT_MS = 60_000;

export class Http {
  readonly #agent: Agent;

  /** @param caPem trusted instead of the system's CAs; null keeps those */
  constructor(caPem: string | null) {
    this.#agent = new Agent({ connect: caPem === null ? {} : { ca: caPem } });
  }

  async call({ method = 'GET', url, headers = {}, body }: Call): Promise<Answer> {
    try {
      const response = await request(url, {
        method,
        headers: { ...headers },
        body: body ?? null,
        dispatcher: this.#agent,
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      });
      const bytes = Buffer.from(await response.body.arrayBuffer());
      return { status: response.statusCode, headers: joinRepeated(response.headers), body: bytes };
    } catch (error) {
      throw new UnreachableError(url, error);
    }
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }
}

/** Every number keeps its digits; null when the body is no object. */
export function jsonObject(body: Buffer): Readonly<Record<string, unknown>> | null {
  try {
    const value = parse(body.toString('utf8'));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

/** Returns null for everything but a JSON number. */
export function digitsOf(value: unknown): string | null {
  return isLosslessNumber(value) ? value.toString() : null;
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function excerpt(body: Buffer, characters = 120): string {
  const text = body
    .subarray(0, characters * 4)
    .toString('utf8')
    .replace(/\s+/g, ' ')
    .trim();
  return text.length > characters ? `${text.slice(0, characters)}…` : text;
}

function joinRepeated(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return all;
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' && !cause.message.includes(code)
    ? `${code} ${cause.message}`
    : cause.message;
}
