import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { FastifyReply } from 'fastify';
import type { Account } from '../account.ts';
import { errorBody } from '../choices.ts';
import type { FaultName } from '../faults/fault-catalogue.ts';
import { type Moment, numberParam, switchParam } from '../faults/faults.ts';
import type { FaultRule } from '../model.ts';

export type Strike = (name: FaultName) => FaultRule | null;

export interface Shaped extends Answer {
  /** The number of bytes after which the connection breaks. */
  readonly cutAt?: number;
  readonly endCleanly?: boolean;
  readonly hideLength?: boolean;
  readonly drip?: { readonly bytes: number; readonly everyMs: number };
}

export function changeByFault(strike: Strike, answer: Answer): Shaped {
  let shaped: Shaped = answer;
  if (strike('gzip') !== null) {
    const headers = { ...shaped.headers, 'content-encoding': 'gzip' };
    shaped = { ...withoutLength(shaped), headers, body: gzipped(shaped.body), hideLength: true };
  }
  if (strike('corrupt-body') !== null)
    shaped = { ...shaped, ...lengthOf(shaped), body: corrupted(shaped.body) };
  const cut = strike('cut-off-body');
  if (cut !== null) {
    const length = lengthOf(shaped).length ?? 1_000;
    const endCleanly = switchParam(cut, 'clean');
    shaped = { ...shaped, cutAt: Math.floor(length * numberParam(cut, 'share')), endCleanly };
    if (endCleanly) shaped = { ...shaped, hideLength: true };
  }
  if (strike('no-content-length') !== null) shaped = { ...shaped, hideLength: true };
  const drip = strike('slow-drip');
  if (drip === null) return shaped;
  return { ...shaped, drip: { bytes: numberParam(drip, 'bytes'), everyMs: numberParam(drip, 'everyMs') } };
}

export function chunksOf(body: Answer['body']): Iterable<Buffer> | AsyncIterable<Buffer> {
  if (typeof body === 'string') return [Buffer.from(body)];
  return Buffer.isBuffer(body) ? [body] : body;
}

async function* gzipped(body: Answer['body']): AsyncGenerator<Buffer> {
  yield gzipSync(Buffer.concat(await Array.fromAsync(chunksOf(body))));
}

async function* corrupted(body: Answer['body']): AsyncGenerator<Buffer> {
  let first = true;
  for await (const chunk of chunksOf(body)) {
    const copy = Buffer.from(chunk);
    const middle = Math.floor(copy.length / 2);
    if (first && copy.length > 0) copy[middle] = (copy[middle] ?? 0) ^ 1;
    first = false;
    yield copy;
  }
}

export function lengthOf({ body, length }: Answer): { length?: number } {
  if (length !== undefined) return { length };
  if (typeof body === 'string') return { length: Buffer.byteLength(body) };
  return Buffer.isBuffer(body) ? { length: body.length } : {};
}

function withoutLength({ length: _, ...rest }: Answer): Answer {
  return rest;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** `length` is the exact number of bytes of a stream, if it is known. */
  readonly body: string | Buffer | Iterable<Buffer> | AsyncIterable<Buffer>;
  readonly length?: number;
}

export interface Exchange {
  readonly account: Account;
  readonly moment: Moment;
  readonly reply: FastifyReply;
}

const FAULT_MESSAGE = 'This answer is a fault of the sandbox.';

/** Faults that replace an answer, in the order in which they are tried. */
const INSTEAD: Readonly<Partial<Record<FaultName, (rule: FaultRule, moment: Moment) => Answer>>> = {
  unauthorized: refusalByFault(401, 'invalid_token', 'The access token expired'),
  forbidden: refusalByFault(403, 'forbidden'),
  'too-many-requests': refusalByFault(429, 'too_many_requests'),
  unavailable: refusalByFault(503, 'unavailable'),
  'server-error': refusalByFault(500, 'internal_error'),
  'bad-request': refusalByFault(400, 'invalid_request'),
  'not-found': refusalByFault(404, 'not_found'),
  redirect: (rule) => ({
    status: numberParam(rule, 'status'),
    headers: { location: String(rule.params.location) },
    body: '',
  }),
  'html-body': () => ({
    status: 200,
    headers: { 'content-type': 'text/html' },
    body: '<!doctype html><h1>Welcome</h1>\n',
  }),
};

export function json(status: number, body: object | string, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

export function problem(
  status: number,
  error: string,
  description: string,
  headers: Record<string, string> = {},
): Answer {
  return json(status, errorBody(error, description), headers);
}

export async function answer(exchange: Exchange, work: () => Answer | Promise<Answer>): Promise<void> {
  const { account, moment, reply } = exchange;
  reply.hijack();
  const strike = (name: FaultName) => account.faults.strike(name, moment);
  const delay = strike('delay');
  if (delay !== null) await sleep(numberParam(delay, 'delayMs'));
  if (strike('hang') !== null) return;
  if (strike('connection-reset') !== null) return resetConnection(reply);
  const refusal = refuseByFault(strike, moment);
  const intended = refusal ?? (await workOrError(work));
  if (strike('execute-then-drop') !== null) return resetConnection(reply);
  const method = reply.request.method;
  const path = reply.request.url.replace(/\?.*$/, '');
  account.activity.add('call', `${method} ${path}: ${intended.status}`, moment.invoiceId ?? null);
  account.store.flush();
  await write(exchange, refusal === null ? changeByFault(strike, intended) : intended);
}

/** A bug of the sandbox is answered with 500, so that the caller does not wait for a timeout. */
async function workOrError(work: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    return problem(500, 'internal_error', (error as Error).message);
  }
}

function refuseByFault(strike: Strike, moment: Moment): Answer | null {
  for (const [name, answerOf] of Object.entries(INSTEAD)) {
    const rule = strike(name as FaultName);
    if (rule !== null) return answerOf(rule, moment);
  }
  return null;
}

function refusalByFault(status: number, error: string, description = FAULT_MESSAGE) {
  return (rule: FaultRule, { place }: Moment): Answer => {
    const headers: Record<string, string> =
      'retryAfterSeconds' in rule.params ? { 'retry-after': String(rule.params.retryAfterSeconds) } : {};
    if (place === 'storage') return storageError(status, error, FAULT_MESSAGE, headers);
    const details = status === 400 ? [{ field: 'invoiceId', issue: FAULT_MESSAGE }] : undefined;
    return json(status, errorBody(error, description, details), headers);
  };
}

export function storageError(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/xml', ...headers },
    body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
  };
}

async function write({ reply, account }: Exchange, shaped: Shaped): Promise<void> {
  const raw = reply.raw;
  const { length } = lengthOf(shaped);
  const headers: Record<string, string> = { date: account.now().toUTCString(), ...shaped.headers };
  if (length !== undefined && shaped.hideLength !== true) headers['content-length'] = String(length);
  raw.writeHead(shaped.status, headers);
  if (reply.request.method === 'HEAD') return void raw.end();
  const isWhole = shaped.cutAt === undefined || shaped.endCleanly === true;
  try {
    await pipeline(cutOff(dripped(shaped), shaped.cutAt), raw, { end: isWhole });
  } catch {
    // The write failed because the reader has closed the connection.
    return;
  }
  // An empty write resolves once the bytes before it are flushed, after which the connection is broken.
  if (!isWhole) raw.write('', () => setTimeout(() => raw.destroy(), 20));
}

async function* dripped({ body, drip }: Shaped): AsyncGenerator<Buffer> {
  for await (const chunk of chunksOf(body)) {
    if (drip === undefined) {
      yield chunk;
      continue;
    }
    for (let at = 0; at < chunk.length; at += drip.bytes) {
      yield chunk.subarray(at, at + drip.bytes);
      await sleep(drip.everyMs);
    }
  }
}

async function* cutOff(chunks: AsyncIterable<Buffer>, cutAt = Infinity): AsyncGenerator<Buffer> {
  let left = cutAt;
  for await (const chunk of chunks) {
    yield chunk.subarray(0, Math.min(left, chunk.length));
    left -= chunk.length;
    if (left <= 0) return;
  }
}

function resetConnection(reply: FastifyReply): void {
  reply.raw.socket?.destroy();
}
