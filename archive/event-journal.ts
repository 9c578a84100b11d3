/**
 * The order in which events arrived in a folder: a line for each, `INSTANT NAME`.
 *
 * It is only an index: when it is missing it is made again from the events. A line is appended in one write with O_APPEND,
 * so several processes may put events at the same time, and a byte offset into it is a cursor that stays valid.
 */

import { statSync } from 'node:fs';
import { appendDurably } from '../lib/files/durable-files.ts';
import { readRange } from '../lib/files/files.ts';

export interface JournalLine {
  /** ISO 8601 UTC. */
  readonly receivedAt: string;
  /** As `eventName` gives it. */
  readonly eventId: string;
}

/** Far longer than a line. */
const TAIL_BYTES = 4096;

/** Sorts lines by arrival. */
export const sortKey = (line: JournalLine): string => `${line.receivedAt}~${line.eventId}`;

export async function appendLine(path: string, { receivedAt, eventId }: JournalLine): Promise<void> {
  // The leading line end separates it from a line that a full disk left incomplete.
  await appendDurably(path, `\n${receivedAt} ${eventId}\n`);
}

/** Lines of a range of bytes, each event once, in order of arrival; torn lines are no lines. */
export async function readLines(path: string, range: { from: number; end: number }): Promise<JournalLine[]> {
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
export async function completeEnd(path: string): Promise<{ readonly size: number; readonly end: number }> {
  const { size } = statSync(path);
  return { size, end: await lineEndBefore(path, size) };
}

/** Behind the last line end before this place. */
export async function lineEndBefore(path: string, place: number): Promise<number> {
  const from = Math.max(0, place - TAIL_BYTES);
  return from + (await readRange(path, { from, end: place })).lastIndexOf(0x0a) + 1;
}
