/**
 * `events/ab/<eventId>.json` is an event; `events/journal` indexes them in order of arrival and is created again when missing.
 * A line is one write with O_APPEND: several processes may append, and a byte offset stays valid as a cursor.
 */

import { statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  appendDurably,
  exists,
  linkDurably,
  makeFolder,
  removeSmall,
  replaceDurably,
  writeSynced,
} from '../lib/files/durable-files.ts';
import { readRange, temporaryName } from '../lib/files/files.ts';
import { systemCode } from '../lib/system-errors.ts';
import { wellFormedJson } from '../lib/wire/json.ts';
import { type Archive, type ArchivedEvent, CursorError, type OnUnreadable } from './archive.ts';
import { arrivalKey, BY_PRECEDENCE, eventName, eventPath, findEvent, trimmedEvent } from './records.ts';

const READ_AHEAD = 64;
const EPOCH = new Date(0).toISOString();
/** About 16,000 events are sorted at once, so memory does not grow with their number. */
const PART_BYTES = 1 << 20;
const TAIL_BYTES = 4096;

interface JournalLine {
  readonly receivedAt: string;
  readonly eventId: string;
}

type EventStore = Pick<Archive, 'putEvent' | 'event' | 'events' | 'eventNames' | 'trimEvent'>;

export async function openEventFolder(root: string, partBytes = PART_BYTES): Promise<EventStore> {
  await makeFolder(root);
  const journal = join(root, 'journal');
  await restoreJournal(root, journal);
  const shards = new Set<string>();

  return {
    async putEvent(event) {
      const path = join(root, eventPath(event.eventId, event.verdict));
      const shard = dirname(path);
      if (!shards.has(shard)) await makeFolder(shard);
      shards.add(shard);
      const isNew = !isOutranked(root, event) && (await linkEvent(root, path, event));
      // A known event gets a line too, because a process that was killed before this left it without one. The leading line end
      // separates the line from one that a full disk left incomplete.
      await appendDurably(journal, `\n${event.receivedAt} ${eventName(event.eventId)}\n`);
      return isNew ? 'new' : 'known';
    },
    event: (eventId) => read(root, eventId),
    async *events({ after, onUnreadable } = {}) {
      const cursor = parseCursor(after);
      const { size } = statSync(journal);
      const end = lineEndBefore(journal, size);
      if (cursor.end > size) throw new CursorError(after ?? '');
      if (cursor.last !== null) yield* readPart(root, cursor, onUnreadable);
      for (let from = cursor.end; from < end; ) {
        const partEnd = lineEndBefore(journal, Math.min(from + partBytes, end));
        yield* readPart(root, { from, end: partEnd, last: null }, onUnreadable);
        from = partEnd;
      }
    },
    async *eventNames() {
      const end = lineEndBefore(journal, statSync(journal).size);
      for (const { eventId } of readLines(journal, { from: 0, end })) {
        if (BY_PRECEDENCE.some((verdict) => exists(join(root, eventPath(eventId, verdict))))) yield eventId;
      }
    },
    async trimEvent(eventId, at) {
      const event = await read(root, eventId);
      const trimmed = event === null ? null : trimmedEvent(event, at);
      if (trimmed === null) return false;
      await replaceDurably(join(root, eventPath(eventId, trimmed.verdict)), `${wellFormedJson(trimmed)}\n`);
      return true;
    },
  };
}

/** Yields an event once the next one is known: the cursor of the last one is the end of the part. */
async function* readPart(
  root: string,
  range: Cursor,
  onUnreadable?: OnUnreadable,
): AsyncGenerator<{ event: ArchivedEvent; cursor: string }> {
  const { last } = range;
  const lines = readLines(join(root, 'journal'), range);
  const rest = last === null ? lines : lines.filter((line) => arrivalKey(line) > last);
  let previous: { readonly event: ArchivedEvent; readonly line: JournalLine } | null = null;
  for (let from = 0; from < rest.length; from += READ_AHEAD) {
    const some = rest.slice(from, from + READ_AHEAD);
    const events = await Promise.all(some.map(({ eventId }) => read(root, eventId, onUnreadable)));
    for (const [i, line] of some.entries()) {
      const event = events[i] ?? null;
      if (event === null) continue;
      if (previous !== null) {
        yield { event: previous.event, cursor: formatCursor({ ...range, last: arrivalKey(previous.line) }) };
      }
      previous = { event, line };
    }
  }
  if (previous !== null) yield { event: previous.event, cursor: formatCursor({ ...range, last: null }) };
}

async function linkEvent(root: string, path: string, event: ArchivedEvent): Promise<boolean> {
  const part = temporaryName(root);
  try {
    await writeSynced(part, `${wellFormedJson(event)}\n`);
    return await linkDurably(part, path);
  } finally {
    removeSmall(part);
  }
}

function isOutranked(root: string, { eventId, verdict }: ArchivedEvent): boolean {
  const better = BY_PRECEDENCE.slice(0, BY_PRECEDENCE.indexOf(verdict) + 1);
  return better.some((one) => exists(join(root, eventPath(eventId, one))));
}

function read(root: string, eventId: string, onUnreadable?: OnUnreadable): Promise<ArchivedEvent | null> {
  const readBytes = async (path: string): Promise<Buffer | null> => {
    try {
      return await readFile(join(root, path));
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return null;
      if (systemCode(error) === 'EISDIR') return Buffer.alloc(0);
      throw error;
    }
  };
  return findEvent(eventId, 'events', readBytes, onUnreadable);
}

/** The journal is created exclusively, so that two processes cannot both create it. */
async function restoreJournal(root: string, journal: string): Promise<void> {
  if (exists(journal)) return;
  const lines: string[] = [];
  for (const shard of await readdir(root, { withFileTypes: true })) {
    if (!shard.isDirectory()) continue;
    for (const name of await readdir(join(root, shard.name))) {
      const [, eventId] = /^([0-9a-z][0-9a-z._-]*?)(?:\.(?:quarantined|test))?\.json$/.exec(name) ?? [];
      if (eventId === undefined || eventId.length > 128) continue;
      // A damaged event gets a line too, so that readers report it.
      const receivedAt = (await read(root, eventId))?.receivedAt ?? EPOCH;
      lines.push(`${receivedAt} ${eventId}\n`);
    }
  }
  const part = temporaryName(root);
  await writeSynced(part, lines.sort().join(''));
  await linkDurably(part, journal);
  removeSmall(part);
}

function readLines(path: string, range: { from: number; end: number }): readonly JournalLine[] {
  const bytes = readRange(path, range);
  const found = new Map<string, JournalLine>();
  for (const line of bytes.toString('latin1').split('\n')) {
    const [, receivedAt, eventId] =
      /^(\d{4}-\d\d-\d\dT[0-9:.]+Z) ([0-9a-z][0-9a-z._-]{0,127})$/.exec(line) ?? [];
    if (receivedAt === undefined || eventId === undefined || found.has(eventId)) continue;
    found.set(eventId, { receivedAt, eventId });
  }
  return [...found.values()].sort((a, b) => (arrivalKey(a) < arrivalKey(b) ? -1 : 1));
}

function lineEndBefore(path: string, offset: number): number {
  const from = Math.max(0, offset - TAIL_BYTES);
  return from + readRange(path, { from, end: offset }).lastIndexOf(0x0a) + 1;
}

/** A byte range of the journal. `last` is the key of the last event that was read; null: the whole part was read. */
interface Cursor {
  readonly from: number;
  readonly end: number;
  readonly last: string | null;
}

function formatCursor({ from, end, last }: Cursor): string {
  return last === null ? `${end}` : `${from}.${end}.${last}`;
}

function parseCursor(text = '0'): Cursor {
  const match = /^(\d+)(?:\.(\d+)\.(.+))?$/.exec(text === '' ? '0' : text);
  if (match === null) throw new CursorError(text);
  const [, from, end, last = null] = match;
  return { from: Number(from), end: Number(end ?? from), last };
}
