/**
 * The audit log (ADR 20). An entry is appended before the work begins, and contains the SHA-256 of the line before
 * it.
 */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { dataFolder } from './files/data-folder.ts';
import { makeFolder } from './files/durable-files.ts';
import { readIfThere, replaceFile } from './files/files.ts';
import type { Scrub } from './log/scrub.ts';
import { beginningOf, jsonOrNull } from './text.ts';
import { USER_FILES, userStore, wholeLines } from './user-store.ts';
import { wellFormedJson } from './wire/json.ts';

const Entry = z.object({
  number: z.int().positive(),
  at: z.string(),
  by: z.string(),
  via: z.enum(['command', 'dashboard']),
  action: z.string(),
  target: z.array(z.string()).readonly(),
  reason: z.string().nullable(),
  /** `begun` is written before the work, one of the others after it; without them the process ended meanwhile. */
  outcome: z.enum(['begun', 'done', 'failed']),
  detail: z.string(),
  began: z.number().nullable(),
  /** The SHA-256 of the line before, in hex; the first line has the hash of no bytes. */
  previous: z.string(),
});

export type AuditEntry = z.output<typeof Entry>;
export type AuditNote = Omit<AuditEntry, 'number' | 'at' | 'previous'>;

/** The newest entry that this machine wrote into a shared log, whose PostgreSQL may lose it in a failover or go back to a dump. */
const Written = z.object({ number: z.int(), at: z.string(), hash: z.string() });
type Written = z.output<typeof Written>;
const LOST = 'audit entries lost';

export interface AuditVerdict {
  readonly entries: number;
  readonly head: string | null;
  readonly problems: readonly string[];
}

export interface AuditLog {
  /** The entry is durable when the promise resolves. @throws the error of the user store */
  write(note: AuditNote): Promise<AuditEntry>;
  newest(limit: number): Promise<readonly AuditEntry[]>;
  /** @param known the hash of an entry that was once the newest */
  verify(known?: string | null): Promise<AuditVerdict>;
}

const MAX_TEXT = 2_000;

/** @param options.scrub the message of an error may repeat a secret */
export function openAuditLog(
  dataDir: string,
  options: { readonly now?: () => Date; readonly scrub?: Scrub } = {},
): AuditLog {
  const { now = () => new Date(), scrub = (text: string) => text } = options;
  const cleaned = (text: string): string => beginningOf(scrub(text), MAX_TEXT);
  const read = async (): Promise<readonly string[]> =>
    linesIn(await (await userStore(dataDir)).read(USER_FILES.audit));

  function entryAfter(last: string, note: AuditNote): AuditEntry {
    return {
      number: (readEntry(last)?.number ?? 0) + 1,
      at: now().toISOString(),
      ...note,
      target: note.target.map(cleaned),
      reason: note.reason === null ? null : cleaned(note.reason),
      detail: cleaned(note.detail),
      previous: hashOf(last),
    };
  }

  const writtenIn = join(dataFolder(dataDir).run, 'audit-written.json');

  async function readWritten(isShared: boolean): Promise<Written | null> {
    if (!isShared) return null;
    return Written.safeParse(jsonOrNull(String(await readIfThere(writtenIn)))).data ?? null;
  }

  return {
    async write(note) {
      const store = await userStore(dataDir);
      const written = await readWritten(store.isShared);
      let entry: AuditEntry | undefined;
      let line = '';
      await store.append(USER_FILES.audit, (before) => {
        const lines = linesIn(before);
        let last = lines.findLast((each) => readEntry(each) !== null) ?? '';
        let lost = '';
        if (isLost(written, lines)) {
          last = wellFormedJson(entryAfter(last, lostNote(written)));
          lost = `${last}\n`;
        }
        entry = entryAfter(last, note);
        line = wellFormedJson(entry);
        return `${lost}${line}\n`;
      });
      const { number, at } = entry as AuditEntry;
      if (store.isShared) {
        await makeFolder(dataFolder(dataDir).run);
        replaceFile(writtenIn, JSON.stringify({ number, at, hash: hashOf(line) } satisfies Written));
      }
      return entry as AuditEntry;
    },
    async newest(limit) {
      const entries = (await read()).flatMap((line) => readEntry(line) ?? []);
      return entries.slice(-limit).reverse();
    },
    async verify(known = null) {
      const lines = await read();
      const verdict = verdictOn(lines, known);
      const written = await readWritten((await userStore(dataDir)).isShared);
      if (!isLost(written, lines)) return verdict;
      return { ...verdict, problems: [...verdict.problems, lostNote(written).detail] };
    },
  };
}

/** @throws the error of `work`, once it is in the log */
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
    await log.write({ ...note, outcome: 'failed', detail, began }).catch(() => undefined);
    throw error;
  }
}

function verdictOn(lines: readonly string[], known: string | null): AuditVerdict {
  const problems: string[] = [];
  let entries = 0;
  let expected = 1;
  let previous = hashOf('');
  let isKnown = known === null;
  for (const [index, line] of lines.entries()) {
    const entry = readEntry(line);
    if (entry === null) {
      problems.push(`Line ${index + 1} is not an entry: it was changed or inserted.`);
      continue;
    }
    if (entry.number > expected) problems.push(missing(expected, entry.number - 1));
    else if (entry.number < expected)
      problems.push(`Line ${index + 1} is entry ${entry.number} where entry ${expected} belongs.`);
    else if (entry.previous !== previous)
      problems.push(
        `Entry ${entry.number} does not follow entry ${expected - 1}: one of the two was changed.`,
      );
    if (entry.action === LOST) problems.push(`Before entry ${entry.number + 1}: ${entry.detail}`);
    entries += 1;
    expected = entry.number + 1;
    previous = hashOf(line);
    isKnown ||= previous === known?.toLowerCase();
  }
  if (!isKnown)
    problems.push(`No entry has the hash ${known}: later entries were cut off, or the log is another one.`);
  return { entries, head: entries === 0 ? null : previous, problems };
}

function isLost(written: Written | null, lines: readonly string[]): written is Written {
  return written !== null && lines.findLast((line) => hashOf(line) === written.hash) === undefined;
}

function lostNote({ number, at, hash }: Written): AuditNote {
  const detail = `Entry ${number} of ${at} (${hash}) was written and is lost, and others may be, as after a failover without synchronous replication.`;
  const outcome = { outcome: 'done', began: null, reason: null, target: [] } as const;
  return { by: 'billsync', via: 'command', action: LOST, ...outcome, detail };
}

function missing(from: number, to: number): string {
  return from === to ? `Entry ${from} is missing.` : `Entries ${from} to ${to} are missing.`;
}

function linesIn(file: Buffer | null): readonly string[] {
  return String(wholeLines(file)).split('\n').slice(0, -1);
}

function readEntry(line: string): AuditEntry | null {
  return Entry.safeParse(jsonOrNull(line)).data ?? null;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
