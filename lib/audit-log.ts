/**
 * The audit log: `audit/log.ndjson` of the user store, one JSON object a line, appended before the work begins (ADR 20).
 *
 * Each entry contains the SHA-256 of the line of the entry before it, so a changed, removed or inserted entry is found. A power
 * cut may leave a line without its end. The next entry then contains the hash of those bytes as well, so they stay in the file
 * and are not mistaken for a changed entry.
 */

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Scrub } from './log/scrub.ts';
import { USER_FILES, userStore } from './user-store.ts';
import { wellFormedJson } from './wire/json.ts';
import { beginningOf } from './wire/text.ts';

const Entry = z.object({
  /** From 1, without gaps. */
  number: z.int().positive(),
  /** ISO 8601 UTC. */
  at: z.string(),
  /** Name of the user on this machine, or of the operator at the dashboard. */
  by: z.string(),
  via: z.enum(['command', 'dashboard']),
  /** Name of the command, `quarantine discard`; the dashboard's actions use the same names. */
  action: z.string(),
  /** Ids or files. */
  target: z.array(z.string()).readonly(),
  /** null when no reason was requested. */
  reason: z.string().nullable(),
  /** `begun` is written before the work, one of the others after it; without them the process ended meanwhile. */
  outcome: z.enum(['begun', 'done', 'failed']),
  /** The result in a sentence; empty while it is begun. */
  detail: z.string(),
  /** Number of the entry that began it; null for that one. */
  began: z.number().nullable(),
  /** SHA-256 of the line of the entry before, in hex; of nothing for the first. */
  previous: z.string(),
  /** SHA-256 of an unfinished line between that entry and this one, in hex; null when there is none. */
  unfinished: z.string().nullable(),
});

export type AuditEntry = z.output<typeof Entry>;
export type AuditNote = Omit<AuditEntry, 'number' | 'at' | 'previous' | 'unfinished'>;

export interface AuditVerdict {
  readonly entries: number;
  /** SHA-256 of the newest entry: kept elsewhere it proves that nothing was cut off since; null when there is none. */
  readonly head: string | null;
  /** Lines whose writer was ended before it finished them: no entries. */
  readonly unfinished: number;
  /** Contradictions in the log, in sentences; empty when there is none. */
  readonly problems: readonly string[];
}

export interface AuditLog {
  /** Durable before it resolves, also behind an entry that was damaged. @throws the error of the user store */
  write(note: AuditNote): Promise<AuditEntry>;
  /** Newest first. Lines that are no entry are left out; `verify` finds them. */
  newest(limit: number): Promise<readonly AuditEntry[]>;
  /** Reads every entry. @param known hash of an entry that was the newest once */
  verify(known?: string | null): Promise<AuditVerdict>;
}

/** Limit for each text, in characters. */
const MAX_TEXT = 2_000;
const LINE_END = 0x0a;

/** @param options.scrub removes secrets from the entry: the message of an error may repeat one */
export function openAuditLog(
  dataDir: string,
  options: { readonly now?: () => Date; readonly scrub?: Scrub } = {},
): AuditLog {
  const { now = () => new Date(), scrub = (text: string) => text } = options;
  const cleaned = (text: string): string => beginningOf(scrub(text), MAX_TEXT);
  const read = async (): Promise<Buffer> =>
    (await (await userStore(dataDir)).read(USER_FILES.audit)) ?? Buffer.alloc(0);

  function entryAfter(bytes: Buffer, note: AuditNote): AuditEntry {
    const last = lastEntry(bytes);
    const after = bytes.subarray(last?.end ?? 0);
    return {
      number: (last?.entry.number ?? 0) + 1,
      at: now().toISOString(),
      ...note,
      target: note.target.map(cleaned),
      reason: note.reason === null ? null : cleaned(note.reason),
      detail: cleaned(note.detail),
      previous: hashOf(last?.line ?? ''),
      // A line with its end was finished once and changed since: `verify` has to find it.
      unfinished: after.length === 0 || endsLine(after) ? null : hashOf(after),
    };
  }

  return {
    async write(note) {
      const store = await userStore(dataDir);
      let entry: AuditEntry | undefined;
      await store.append(USER_FILES.audit, (before) => {
        entry = entryAfter(before, note);
        return `${wellFormedJson(entry)}\n`;
      });
      return entry as AuditEntry;
    },
    async newest(limit) {
      const entries: AuditEntry[] = [];
      for (const { entry } of entriesBackwards(await read())) {
        if (entries.length === limit) break;
        entries.push(entry);
      }
      return entries;
    },
    verify: async (known = null) => verdictOn(await read(), known),
  };
}

/** Writes an entry before and after `work`. @throws the error of `work`, once it is in the log */
export async function audited<T>(
  log: AuditLog,
  note: Pick<AuditNote, 'by' | 'via' | 'action' | 'target' | 'reason'>,
  work: () => Promise<{ readonly result: T; readonly detail: string }>,
): Promise<{ readonly result: T; readonly entry: AuditEntry }> {
  const { number: began } = await log.write({ ...note, outcome: 'begun', detail: '', began: null });
  try {
    const { result, detail } = await work();
    return { result, entry: await log.write({ ...note, outcome: 'done', detail, began }) };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    await log.write({ ...note, outcome: 'failed', detail, began });
    throw error;
  }
}

function verdictOn(bytes: Buffer, known: string | null): AuditVerdict {
  const problems: string[] = [];
  let entries = 0;
  let unfinished = 0;
  let lineNumber = 0;
  let expected = 1;
  let previous = hashOf('');
  let isKnown = known === null;
  /** Lines since the last entry that are none, and the offset of the first. */
  let odd = { lines: 0, start: 0 };
  for (const { line, start, end } of linesOf(bytes)) {
    lineNumber += 1;
    const entry = readEntry(line);
    if (entry === null) {
      odd = { lines: odd.lines + 1, start: odd.lines === 0 ? start : odd.start };
      // The newest line: the next entry accounts for it.
      if (end === bytes.length && !endsLine(bytes)) {
        unfinished += odd.lines;
        odd = { lines: 0, start: 0 };
      }
      continue;
    }
    const between = odd.lines === 0 ? null : hashOf(bytes.subarray(odd.start, start - 1));
    if (entry.unfinished === between) unfinished += odd.lines;
    else if (between !== null) problems.push(noEntry(lineNumber - odd.lines, lineNumber - 1));
    else problems.push(`The unfinished line before entry ${entry.number} is missing.`);
    odd = { lines: 0, start: 0 };
    if (entry.number > expected) problems.push(missing(expected, entry.number - 1));
    else if (entry.number < expected)
      problems.push(`Line ${lineNumber} is entry ${entry.number} where entry ${expected} belongs.`);
    else if (entry.previous !== previous)
      problems.push(
        `Entry ${entry.number} does not follow entry ${expected - 1}: one of the two was changed.`,
      );
    entries += 1;
    expected = entry.number + 1;
    previous = hashOf(line);
    isKnown ||= previous === known?.toLowerCase();
  }
  if (odd.lines > 0) problems.push(noEntry(lineNumber - odd.lines + 1, lineNumber));
  if (!isKnown)
    problems.push(`No entry has the hash ${known}: later entries were cut off, or the log is another one.`);
  return { entries, head: entries === 0 ? null : previous, unfinished, problems };
}

function noEntry(from: number, to: number): string {
  return from === to
    ? `Line ${from} is not an entry: it was changed or inserted.`
    : `Lines ${from} to ${to} are not entries: they were changed or inserted.`;
}

function missing(from: number, to: number): string {
  return from === to ? `Entry ${from} is missing.` : `Entries ${from} to ${to} are missing.`;
}

interface Line {
  /** Without its line end. */
  readonly line: Buffer;
  readonly start: number;
  /** Offset behind its line end, if it has one. */
  readonly end: number;
}

function* linesOf(bytes: Buffer): Generator<Line> {
  for (let start = 0; start < bytes.length; ) {
    const lineEnd = bytes.indexOf(LINE_END, start);
    const end = lineEnd < 0 ? bytes.length : lineEnd + 1;
    yield { line: bytes.subarray(start, lineEnd < 0 ? end : lineEnd), start, end };
    start = end;
  }
}

function* entriesBackwards(bytes: Buffer): Generator<Line & { readonly entry: AuditEntry }> {
  for (let end = bytes.length; end > 0; ) {
    const lineEnd = endsLine(bytes.subarray(0, end)) ? end - 1 : end;
    const start = bytes.subarray(0, lineEnd).lastIndexOf(LINE_END) + 1;
    const line = bytes.subarray(start, lineEnd);
    const entry = readEntry(line);
    if (entry !== null) yield { line, start, end, entry };
    end = start;
  }
}

function lastEntry(bytes: Buffer): (Line & { readonly entry: AuditEntry }) | null {
  for (const found of entriesBackwards(bytes)) return found;
  return null;
}

function endsLine(bytes: Buffer): boolean {
  return bytes.at(-1) === LINE_END;
}

/** null when the line is not an entry. */
function readEntry(line: Buffer): AuditEntry | null {
  try {
    return Entry.safeParse(JSON.parse(line.toString('utf8'))).data ?? null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}

function hashOf(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
