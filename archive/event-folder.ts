/**
 * Keeps events permanently in a folder: one small JSON file per event, and a journal with their order of arrival.
 *
 * `events/ab/<eventId>.json` is the event; `events/journal` has a line per event and is only an index: when it is
 * missing it is made again from the files.
 */

import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  exists,
  linkDurably,
  makeFolder,
  removeSmall,
  replaceDurably,
  writeSynced,
} from '../lib/files/durable-files.ts';
import { temporaryName } from '../lib/files/files.ts';
import { systemCode } from '../lib/system-errors.ts';
import { wellFormedJson } from '../lib/wire/json.ts';

import { type ArchivedEvent, CursorError, type DeliveryVerdict, type OnUnreadable } from './archive.ts';
import { type Cursor, formatCursor, parseCursor } from './event-cursor.ts';
import {
  appendLine,
  completeEnd,
  type JournalLine,
  lineEndBefore,
  readLines,
  sortKey,
} from './event-journal.ts';
import { BY_PRECEDENCE, eventName, eventPath } from './event-name.ts';
import { readEvent } from './read-record.ts';
import type { EventStore } from './stores.ts';
import { trimmedEvent } from './trim-event.ts';

/** How many files are read at once: a rebuild reads all of them. Fewer are read directly, which takes microseconds each. */
const READ_AHEAD = 64;

const EPOCH = new Date(0).toISOString();

/** Of the journal, read and sorted at once: 16,000 events, so that memory does not follow the number of all. */
const PART_BYTES = 1 << 20;

/** Opens (and makes) the folder of events. */
export async function openEventFolder(root: string, partBytes = PART_BYTES): Promise<EventStore> {
  await makeFolder(root);
  const journalPath = join(root, 'journal');
  await restoreJournal(root, journalPath);
  const shards = new Set<string>();

  return {
    async put(event) {
      const path = pathOf(root, event.eventId, event.verdict);
      const shard = dirname(path);
      if (!shards.has(shard)) await makeFolder(shard);
      shards.add(shard);
      const isNew = !outranked(root, event) && (await link(root, path, event));
      // Also when it is known: a process that died between link and journal left a file without a line.
      await appendLine(journalPath, { receivedAt: event.receivedAt, eventId: eventName(event.eventId) });
      return isNew ? 'new' : 'known';
    },
    get: (eventId) => read(root, eventId, { isFew: true }),
    async *list(after, onUnreadable) {
      const cursor = parseCursor(after);
      const { size, end } = await completeEnd(journalPath);
      // Not the journal that was read before: what it has at this offset does not follow what was read.
      if (cursor.end > size) throw new CursorError(after ?? '');
      if (cursor.last !== null) yield* readPart(root, cursor, onUnreadable);
      for (let from = cursor.end; from < end; ) {
        const partEnd = await lineEndBefore(journalPath, Math.min(from + partBytes, end));
        yield* readPart(root, { from, end: partEnd, last: null }, onUnreadable);
        from = partEnd;
      }
    },
    async *names() {
      const { end } = await completeEnd(journalPath);
      for (const { eventId } of await readLines(journalPath, { from: 0, end })) {
        if (BY_PRECEDENCE.some((verdict) => exists(pathOf(root, eventId, verdict)))) yield eventId;
      }
    },
    async trim(eventId, at) {
      const event = await read(root, eventId, { isFew: true });
      const trimmed = event === null ? null : trimmedEvent(event, at);
      if (trimmed === null) return false;
      await replaceDurably(pathOf(root, eventId, trimmed.verdict), `${wellFormedJson(trimmed)}\n`);
      return true;
    },
  };
}

/**
 * The events of a part of the journal that come after `range.last`. One is yielded once the next is known, because the last
 * one's cursor is the end of the part.
 */
async function* readPart(
  root: string,
  range: Cursor,
  onUnreadable: OnUnreadable = () => undefined,
): AsyncGenerator<{ event: ArchivedEvent; cursor: string }> {
  const { last } = range;
  const lines = await readLines(join(root, 'journal'), range);
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

/** false when another process put it first. */
async function link(root: string, path: string, event: ArchivedEvent): Promise<boolean> {
  const part = temporaryName(root);
  try {
    await writeSynced(part, `${wellFormedJson(event)}\n`);
    return await linkDurably(part, path);
  } finally {
    removeSmall(part);
  }
}

const pathOf = (root: string, eventId: string, verdict: DeliveryVerdict): string =>
  join(root, eventPath(eventId, verdict));

function outranked(root: string, event: ArchivedEvent): boolean {
  const asGood = BY_PRECEDENCE.slice(0, BY_PRECEDENCE.indexOf(event.verdict) + 1);
  return asGood.some((verdict) => exists(pathOf(root, event.eventId, verdict)));
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
  removeSmall(part);
}
