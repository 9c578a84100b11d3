/** `facts/journal.ndjson` has a fact per line, written with O_APPEND: a byte offset stays valid as a cursor. */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { appendDurably, makeFolder } from '../lib/files/durable-files.ts';
import { readRange } from '../lib/files/files.ts';
import { wellFormedJson } from '../lib/wire/json.ts';

import { type Archive, CursorError, type Fact, type OnUnreadable } from './archive.ts';
import { inOrderOfInstants, readFact } from './records.ts';

const JOURNAL = 'journal.ndjson';

const CHUNK_BYTES = 1 << 20;

type FactStore = Pick<Archive, 'putFact' | 'facts' | 'factsAfter'>;

export async function openFactFolder(root: string): Promise<FactStore> {
  await makeFolder(root);
  const path = join(root, JOURNAL);
  await appendDurably(path, '');

  async function putFact(fact: Fact): Promise<void> {
    if (!/^\d{4}-\d\d-\d\dT.*Z$/.test(fact.at)) {
      throw new RangeError(`A fact needs an instant in UTC, not ${fact.at}.`);
    }
    // The leading line end separates the line from one that a crash or a full disk left incomplete.
    await appendDurably(path, `\n${wellFormedJson(fact)}\n`);
  }

  async function* factsAfter(
    cursor: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<{ fact: Fact; cursor: string }> {
    const from = parseOffset(cursor);
    if (from > sizeOf(path)) throw new CursorError(cursor ?? '');
    let unreadable: Damaged | null = null;
    for await (const { line, start, end } of linesFrom(path, from)) {
      if (unreadable !== null && line.length === 0) await report(unreadable, onUnreadable);
      unreadable = null;
      if (line.length === 0) continue;
      const reading = readFact(line);
      if (reading.ok) yield { fact: reading.value, cursor: `${end}` };
      else unreadable = { start, why: reading.why };
    }
    if (unreadable !== null) await report(unreadable, onUnreadable);
  }

  /** A torn line is followed by the next line itself, without its leading line end. It was never confirmed, so it is ignored. */
  async function report({ start, why }: Damaged, onUnreadable?: OnUnreadable): Promise<void> {
    onUnreadable?.({ where: `facts/${JOURNAL}, line ${await lineNumber(path, start)}`, why });
  }

  return {
    putFact,
    facts: (onUnreadable) => inOrderOfInstants(factsAfter(null, onUnreadable)),
    factsAfter,
  };
}

interface Damaged {
  readonly start: number;
  readonly why: string;
}

async function* linesFrom(
  path: string,
  from: number,
): AsyncGenerator<{ line: Uint8Array; start: number; end: number }> {
  const size = sizeOf(path);
  let rest: Buffer = Buffer.alloc(0);
  let position = from;
  for (let readTo = from; readTo < size; ) {
    const chunk = readRange(path, { from: readTo, end: Math.min(size, readTo + CHUNK_BYTES) });
    if (chunk.length === 0) return;
    readTo += chunk.length;
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
      const line = bytes.subarray(start, end);
      yield { line, start: position + start, end: position + end + 1 };
      start = end + 1;
    }
    position += start;
    rest = bytes.subarray(start);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

async function lineNumber(path: string, offset: number): Promise<number> {
  let number = 1;
  for await (const { end } of linesFrom(path, 0)) {
    if (end > offset) break;
    number += 1;
  }
  return number;
}

function parseOffset(cursor: string | null): number {
  if (cursor === null) return 0;
  if (!/^\d{1,15}$/.test(cursor)) throw new CursorError(cursor);
  return Number(cursor);
}
