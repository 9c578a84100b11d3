/**
 * Keeps events permanently in a folder: one small JSON file per event, and a journal with their order of arrival.
 *
 * `events/ab/<eventId>.json` is the event; `events/journal` has a line per event and is only an index: when it is
 * missing it is made again from the files. A line is appended in one write with O_APPEND, so several processes may
 * put events at the same time, and a byte offset into the journal is a cursor that stays valid.
 */

import { readFileSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { wellFormedJson } from '../contract/well-formed.js';
import {
  appendDurably,
  exists,
  linkDurably,
  makeFolder,
  removeIfThere,
  replaceDurably,
  systemCode,
  temporaryName,
  writeSynced,
} from '../ops/durable-files.js';
import { readRange } from '../ops/read-range.js';
import { type ArchivedEvent, CursorError, type DeliveryVerdict, type OnUnreadable } from './archive.js';
import { type Cursor, formatCursor, parseCursor } from './event-cursor.js';
import { BY_PRECEDENCE, eventName, eventPath } from './event-name.js';
import { readEvent } from './read-record.js';
import { trimmedEvent } from './trim-event.js';

export interface EventFolder {
  put(event: ArchivedEvent): Promise<'new' | 'known'>;
  get(eventId: string): Promise<ArchivedEvent | null>;
  list(
    after?: string,
    onUnreadable?: OnUnreadable,
  ): AsyncIterable<{ readonly event: ArchivedEvent; readonly cursor: string }>;
  names(): AsyncIterable<string>;
  trim(eventId: string, at: string): Promise<boolean>;
}

/** How many files are read at once: a rebuild reads all of them. Fewer are read directly, which takes microseconds each. */
const READ_AHEAD = 64;

const EPOCH = new Date(0).toISOString();

interface JournalLine {
  readonly receivedAt: string;
  readonly eventId: string;
}

/** Of the journal, read and sorted at once: 16,000 events, so that memory does not follow the number of all. */
const PART_BYTES = 1 << 20;
/** Far longer than a line. */
const TAIL_BYTES = 4096;

/** Opens (and makes) the folder of events. */
export async function openEventFolder(root: string, partBytes = PART_BYTES): Promise<EventFolder> {
  await makeFolder(root);
  const journalPath = join(root, 'journal');
  await restoreJournal(root, journalPath);
  const shards = new Set<string>();

  async function put(event: ArchivedEvent): Promise<'new' | 'known'> {
    const path = pathOf(root, event.eventId, event.verdict);
    const shard = dirname(path);
    if (!shards.has(shard)) {
      await makeFolder(shard);
      shards.add(shard);
    }
    const isKnown = await outranked(root, event);
    if (!isKnown && (await link(path, event))) {
      await append(event);
      return 'new';
    }
    // A process that died between link and journal left a file without a line; a second line does no harm.
    await append(event);
    return 'known';
  }

  async function link(path: string, event: ArchivedEvent): Promise<boolean> {
    const part = temporaryName(root);
    try {
      await writeSynced(part, `${wellFormedJson(event)}\n`);
      return await linkDurably(part, path);
    } finally {
      await removeIfThere(part);
    }
  }

  async function append(event: ArchivedEvent): Promise<void> {
    // The leading line end separates it from a line that a full disk left incomplete.
    await appendDurably(journalPath, `\n${event.receivedAt} ${eventName(event.eventId)}\n`);
  }

  async function* list(
    after?: string,
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<{ event: ArchivedEvent; cursor: string }> {
    const cursor = parseCursor(after);
    const { size, end } = await completeEnd(journalPath);
    // Not the journal that was read before: what it has at this offset does not follow what was read.
    if (cursor.end > size) throw new CursorError(after ?? '');
    if (cursor.last !== null) {
      yield* batch({ from: cursor.from, end: cursor.end, last: cursor.last }, onUnreadable);
    }
    for (let from = cursor.end; from < end; ) {
      const partEnd = await lineEndBefore(journalPath, Math.min(from + partBytes, end));
      yield* batch({ from, end: partEnd, last: null }, onUnreadable);
      from = partEnd;
    }
  }

  /** An event is yielded once the next is known, because the last one's cursor is the end of the chunk. */
  async function* batch(
    range: Cursor,
    onUnreadable: OnUnreadable = () => undefined,
  ): AsyncGenerator<{ event: ArchivedEvent; cursor: string }> {
    const { last } = range;
    const lines = await readLines(journalPath, range);
    const rest = last === null ? lines : lines.filter((line) => sortKey(line) > last);
    let held: { readonly event: ArchivedEvent; readonly line: JournalLine } | null = null;
    for (let from = 0; from < rest.length; from += READ_AHEAD) {
      const some = rest.slice(from, from + READ_AHEAD);
      const isFew = some.length < READ_AHEAD;
      const events = await Promise.all(some.map((line) => read(root, line.eventId, { onUnreadable, isFew })));
      for (const [i, line] of some.entries()) {
        const event = events[i];
        if (event === null || event === undefined) continue;
        if (held !== null) {
          yield { event: held.event, cursor: formatCursor({ ...range, last: sortKey(held.line) }) };
        }
        held = { event, line };
      }
    }
    if (held !== null) yield { event: held.event, cursor: formatCursor({ ...range, last: null }) };
  }

  async function* names(): AsyncGenerator<string> {
    const { end } = await completeEnd(journalPath);
    const lines = await readLines(journalPath, { from: 0, end });
    for (const { eventId } of lines) {
      if (BY_PRECEDENCE.some((verdict) => exists(pathOf(root, eventId, verdict)))) yield eventId;
    }
  }

  async function trim(eventId: string, at: string): Promise<boolean> {
    const event = await read(root, eventId, { isFew: true });
    const trimmed = event === null ? null : trimmedEvent(event, at);
    if (trimmed === null) return false;
    await replaceDurably(pathOf(root, eventId, trimmed.verdict), `${wellFormedJson(trimmed)}\n`);
    return true;
  }

  return {
    put,
    get: (eventId) => read(root, eventId, { isFew: true }),
    list,
    names,
    trim,
  };
}

const pathOf = (root: string, eventId: string, verdict: DeliveryVerdict): string =>
  join(root, eventPath(eventId, verdict));

async function outranked(root: string, event: ArchivedEvent): Promise<boolean> {
  for (const verdict of BY_PRECEDENCE.slice(0, BY_PRECEDENCE.indexOf(event.verdict) + 1)) {
    if (exists(pathOf(root, event.eventId, verdict))) return true;
  }
  return false;
}

/** null when it is not there, or was damaged. */
async function read(
  root: string,
  eventId: string,
  { onUnreadable, isFew }: { readonly onUnreadable?: OnUnreadable; readonly isFew: boolean },
): Promise<ArchivedEvent | null> {
  for (const verdict of BY_PRECEDENCE) {
    const bytes = await readBytes(pathOf(root, eventId, verdict), isFew);
    if (bytes === null) continue;
    const reading = bytes === 'no file' ? { ok: false as const, why: bytes } : readEvent(bytes);
    if (reading.ok && eventName(reading.value.eventId) === eventName(eventId)) return reading.value;
    const why = reading.ok ? 'another event than its name says' : reading.why;
    onUnreadable?.({ where: `events/${eventPath(eventId, verdict)}`, why });
    return null;
  }
  return null;
}

async function readBytes(path: string, isFew: boolean): Promise<Buffer | 'no file' | null> {
  try {
    return isFew ? readFileSync(path) : await readFile(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    if (systemCode(error) === 'EISDIR') return 'no file';
    throw error;
  }
}

const sortKey = (line: JournalLine): string => `${line.receivedAt}~${line.eventId}`;

/** Lines of a chunk of the journal, each event once, in order of arrival; torn lines are no lines. */
async function readLines(path: string, range: { from: number; end: number }): Promise<JournalLine[]> {
  const bytes = await readRange(path, range);
  const found = new Map<string, JournalLine>();
  for (const line of bytes.toString('latin1').split('\n')) {
    const match = /^(\d{4}-\d\d-\d\dT[0-9:.]+Z) ([0-9a-z][0-9a-z._-]{0,127})$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined) continue;
    if (!found.has(match[2])) found.set(match[2], { receivedAt: match[1], eventId: match[2] });
  }
  return [...found.values()].sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

/** The end of the file, and of its last whole line. */
async function completeEnd(path: string): Promise<{ readonly size: number; readonly end: number }> {
  const { size } = statSync(path);
  return { size, end: await lineEndBefore(path, size) };
}

/** Behind the last line end before this place. */
async function lineEndBefore(path: string, place: number): Promise<number> {
  const from = Math.max(0, place - TAIL_BYTES);
  return from + (await readRange(path, { from, end: place })).lastIndexOf(0x0a) + 1;
}

/** Rebuilds a lost journal from the events themselves; exclusive, so two processes cannot both do it. */
async function restoreJournal(root: string, journalPath: string): Promise<void> {
  if (exists(journalPath)) return;
  const lines: string[] = [];
  for (const shard of await readdir(root, { withFileTypes: true })) {
    if (!shard.isDirectory()) continue;
    for (const name of await readdir(join(root, shard.name))) {
      const [, eventId] = /^([0-9a-z][0-9a-z._-]*?)(?:\.(?:quarantined|test))?\.json$/.exec(name) ?? [];
      if (eventId === undefined || eventId.length > 128) continue;
      // A damaged one gets a line too, so that whoever reads the events learns of it.
      const receivedAt = (await read(root, eventId, { isFew: false }))?.receivedAt ?? EPOCH;
      lines.push(`${receivedAt} ${eventId}\n`);
    }
  }
  const part = temporaryName(root);
  await writeSynced(part, lines.sort().join(''));
  await linkDurably(part, journalPath);
  await removeIfThere(part);
}
