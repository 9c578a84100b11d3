/**
 * Keeps facts permanently: `facts/journal.ndjson`, one JSON object a line, appended and flushed before it counts.
 *
 * A line is one write with O_APPEND, so several processes may put facts at once, and a byte offset is a cursor that
 * stays true for ever.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import { appendDurably, makeFolder } from '../lib/files/durable-files.ts';
import { readRange } from '../lib/files/files.ts';
import { wellFormedJson } from '../lib/wire/json.ts';

import { CursorError, type Fact, type OnUnreadable } from './archive.ts';
import { readFact } from './read-record.ts';
import type { FactStore } from './stores.ts';

const JOURNAL = 'journal.ndjson';

/** Large enough for speed, small enough that memory does not follow the journal's size. */
const CHUNK_BYTES = 1 << 20;

/** Opens (and makes) the folder of facts. */
export async function openFactFolder(root: string): Promise<FactStore> {
  await makeFolder(root);
  const path = join(root, JOURNAL);
  await appendDurably(path, '');

  async function put(fact: Fact): Promise<void> {
    if (!/^\d{4}-\d\d-\d\dT.*Z$/.test(fact.at)) {
      throw new RangeError(`A fact needs an instant in UTC, not ${fact.at}.`);
    }
    // The leading line end separates it from a line that a crash or a full disk left incomplete.
    await appendDurably(path, `\n${wellFormedJson(fact)}\n`);
  }

  async function* after(
    cursor: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<{ fact: Fact; cursor: string }> {
    const from = parseOffset(cursor);
    // Not the journal that was read before: what it has at this offset does not follow what was read.
    if (from > sizeOf(path)) throw new CursorError(cursor ?? '');
    let unreadable: Damaged | null = null;
    for await (const { line, start, end } of linesFrom(path, from)) {
      if (unreadable !== null && line.length === 0) await tell(unreadable, onUnreadable);
      unreadable = null;
      if (line.length === 0) continue;
      const reading = readFact(line);
      if (reading.ok) yield { fact: reading.value, cursor: `${end}` };
      else unreadable = { start, why: reading.why };
    }
    if (unreadable !== null) await tell(unreadable, onUnreadable);
  }

  /**
   * A line that was written whole has its own line end, and behind it nothing or the next one's leading line end. A torn
   * line ends where the next one begins: it was never confirmed to anybody, so it is no fact and nothing is lost.
   */
  async function tell({ start, why }: Damaged, onUnreadable?: OnUnreadable): Promise<void> {
    onUnreadable?.({ where: `facts/${JOURNAL}, line ${await lineNumber(path, start)}`, why });
  }

  return { put, after };
}

interface Damaged {
  /** Offset in bytes. */
  readonly start: number;
  readonly why: string;
}

/** Whole lines only, as far as the file reaches now: the rest of a line that is being written is there next time. */
async function* linesFrom(
  path: string,
  from: number,
): AsyncGenerator<{ line: Uint8Array; start: number; end: number }> {
  const size = sizeOf(path);
  let rest: Buffer = Buffer.alloc(0);
  let position = from;
  for (let readTo = from; readTo < size; ) {
    const chunk = await readRange(path, { from: readTo, end: Math.min(size, readTo + CHUNK_BYTES) });
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

/** 0 when it is not there. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** As an editor counts, from 1; asked only for what is damaged. */
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
