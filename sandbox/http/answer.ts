/**
 * Every answer of the service's own endpoints goes through here, because here the faults of a network and of a
 * tired server are played: refusals, lost answers, bodies that break off, drip or change.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import type { Account } from '../account.ts';
import { errorBody } from '../choices.ts';
import type { FaultName } from '../faults/fault-catalogue.ts';
import { type FaultRule, type Moment, numberParam } from '../faults/fault-rule.ts';
import { changeByFault, chunksOf, lengthOf, type Shaped, type Strike } from './change-answer.ts';

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A stream comes with its exact length, unless nobody can know it. */
  readonly body: string | Buffer | Iterable<Buffer> | AsyncIterable<Buffer>;
  readonly length?: number;
}

export interface Exchange {
  readonly account: Account;
  readonly moment: Moment;
  readonly reply: FastifyReply;
}

const PLAYED = 'This answer is a fault of the sandbox.';

/** Faults that answer in place of the endpoint, in the order in which they are tried. */
const INSTEAD: Readonly<Partial<Record<FaultName, (rule: FaultRule, moment: Moment) => Answer>>> = {
  unauthorized: refusal(401, 'invalid_token', 'The access token expired'),
  forbidden: refusal(403, 'forbidden'),
  'too-many-requests': refusal(429, 'too_many_requests'),
  unavailable: refusal(503, 'unavailable'),
  'server-error': refusal(500, 'internal_error'),
  'bad-request': refusal(400, 'invalid_request'),
  'not-found': refusal(404, 'not_found'),
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

/** Answers a request by `work`, or as a fault has it. */
export async function answer(exchange: Exchange, work: () => Answer | Promise<Answer>): Promise<void> {
  const { account, moment, reply } = exchange;
  reply.hijack();
  const strike = (name: FaultName) => account.faults.strike(name, moment);
  const delay = strike('delay');
  if (delay !== null) await sleep(numberParam(delay, 'delayMs'));
  if (strike('hang') !== null) return;
  if (strike('connection-reset') !== null) return reset(reply);
  const refusal = refuseByFault(strike, moment);
  const wanted = refusal ?? (await workOrConfess(work));
  if (strike('execute-then-drop') !== null) return reset(reply);
  const method = reply.request.method;
  const path = reply.request.url.replace(/\?.*$/, '');
  account.activity.add('call', `${method} ${path}: ${wanted.status}`, moment.invoiceId ?? null);
  account.store.flush();
  await write(exchange, refusal === null ? changeByFault(strike, wanted) : wanted);
}

/** An error of the sandbox's own is answered like one, so that nobody waits for an answer that cannot come. */
async function workOrConfess(work: () => Answer | Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    return json(500, errorBody('internal_error', (error as Error).message));
  }
}

function refuseByFault(strike: Strike, moment: Moment): Answer | null {
  for (const [name, answerOf] of Object.entries(INSTEAD)) {
    const rule = strike(name as FaultName);
    if (rule !== null) return answerOf(rule, moment);
  }
  return null;
}

function refusal(status: number, error: string, description = PLAYED) {
  return (rule: FaultRule, { place }: Moment): Answer => {
    const headers: Record<string, string> =
      'retryAfterSeconds' in rule.params ? { 'retry-after': String(rule.params.retryAfterSeconds) } : {};
    if (place === 'storage') return storageError(status, error, PLAYED, headers);
    const details = status === 400 ? [{ field: 'invoiceId', issue: PLAYED }] : undefined;
    return json(status, errorBody(error, description, details), headers);
  };
}

/** Object storage speaks XML. */
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
  let sent = 0;
  for await (const chunk of dripped(shaped)) {
    const rest = shaped.cutAt === undefined ? chunk.length : shaped.cutAt - sent;
    const part = rest < chunk.length ? chunk.subarray(0, rest) : chunk;
    sent += part.length;
    if (!raw.write(part) && !(await drained(raw))) return;
    if (shaped.cutAt !== undefined && sent >= shaped.cutAt) break;
  }
  if (shaped.cutAt === undefined || shaped.endCleanly === true) raw.end();
  else breakOff(raw);
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

/** False when the reader is gone. */
function drained(raw: FastifyReply['raw']): Promise<boolean> {
  if (raw.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const settle = (alive: boolean) => {
      raw.off('drain', onDrain);
      raw.off('close', onClose);
      resolve(alive);
    };
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    raw.on('drain', onDrain);
    raw.on('close', onClose);
  });
}

/** Lets out what was written, then breaks the connection. */
function breakOff(raw: FastifyReply['raw']): void {
  raw.write('', () => setTimeout(() => raw.destroy(), 20));
}

function reset(reply: FastifyReply): void {
  reply.raw.socket?.destroy();
}
