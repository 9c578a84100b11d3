/** How faults change an answer on its way: encoded, corrupted, cut off, without its length, or a few bytes at a time. */

import { gzipSync } from 'node:zlib';
import type { FaultName } from '../faults/fault-catalogue.ts';
import { type FaultRule, numberParam, switchParam } from '../faults/fault-rule.ts';
import type { Answer } from './answer.ts';

/** The rule of that name that strikes now, if any. */
export type Strike = (name: FaultName) => FaultRule | null;

export interface Shaped extends Answer {
  /** Send this many bytes and break the connection; null sends all. */
  readonly cutAt?: number;
  readonly endCleanly?: boolean;
  readonly hideLength?: boolean;
  readonly drip?: { readonly bytes: number; readonly everyMs: number };
}

export function changeByFault(strike: Strike, wanted: Answer): Shaped {
  let shaped: Shaped = wanted;
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
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(body)) chunks.push(chunk);
  yield gzipSync(Buffer.concat(chunks));
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
