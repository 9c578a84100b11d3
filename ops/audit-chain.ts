/** The entries of the audit log as they are stored, by their numbers, and the proof that none was changed since. */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { AuditEntry } from './audit-log.ts';
import { namesIn } from './names-in.ts';

/** One log, in the data folder or copied elsewhere. */
export interface AuditEntries {
  /** Ascending. */
  numbers(): Promise<readonly number[]>;
  /** Nothing for what cannot be read, as a folder in its place. */
  bytes(number: number): Promise<Uint8Array>;
}

export interface AuditVerdict {
  readonly entries: number;
  /** SHA-256 of the newest entry: kept elsewhere it proves that nothing was cut off since; null when there is none. */
  readonly head: string | null;
  /** What does not hold, in sentences; empty when all does. */
  readonly problems: readonly string[];
}

const Entry = z.object({
  number: z.int().positive(),
  at: z.string(),
  by: z.string(),
  via: z.enum(['command', 'dashboard']),
  action: z.string(),
  target: z.array(z.string()),
  reason: z.string().nullable(),
  outcome: z.enum(['begun', 'done', 'failed']),
  detail: z.string(),
  began: z.number().nullable(),
  previous: z.string(),
}) satisfies z.ZodType<AuditEntry>;

const DIGITS = 9;

/** `000000001.json` */
export function auditFileName(number: number): string {
  return `${String(number).padStart(DIGITS, '0')}.json`;
}

/** null for any other name. */
export function auditNumber(name: string): number | null {
  const digits = /^(\d{9})\.json$/.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** @param folder `audit` of a data folder; it may be missing */
export function auditEntriesIn(folder: string): AuditEntries {
  return {
    async numbers() {
      const names = await namesIn(folder);
      return names.flatMap((name) => auditNumber(name) ?? []).sort((one, other) => one - other);
    },
    bytes: (number) => readFile(join(folder, auditFileName(number))).catch(() => Buffer.alloc(0)),
  };
}

/** Reads every entry. @param known hash of an entry that was the newest once */
export async function verifyAudit(log: AuditEntries, known: string | null = null): Promise<AuditVerdict> {
  const problems: string[] = [];
  const hashes = new Set<string>();
  let expected = 1;
  let previous = auditHash('');
  const numbers = await log.numbers();
  for (const number of numbers) {
    if (number !== expected) problems.push(`${entriesAre(expected, number - 1)} missing.`);
    const bytes = await log.bytes(number);
    const entry = readAuditEntry(bytes);
    if (entry === null || entry.number !== number) {
      problems.push(`Entry ${number} is none: it was changed.`);
    } else if (number === expected && entry.previous !== previous) {
      problems.push(`Entry ${number} does not follow entry ${number - 1}: one of the two was changed.`);
    }
    previous = auditHash(bytes);
    hashes.add(previous);
    expected = number + 1;
  }
  if (known !== null && !hashes.has(known.toLowerCase())) {
    problems.push(`No entry has the hash ${known}: what followed was cut off, or the log is another one.`);
  }
  return { entries: numbers.length, head: numbers.length === 0 ? null : previous, problems };
}

/** `Entry 3 is`, `Entries 3 to 5 are` */
export function entriesAre(from: number, to: number): string {
  return from === to ? `Entry ${from} is` : `Entries ${from} to ${to} are`;
}

/** null when these are not the bytes of an entry. */
export function readAuditEntry(bytes: Uint8Array): AuditEntry | null {
  try {
    const parsed = Entry.safeParse(JSON.parse(Buffer.from(bytes).toString('utf8')));
    return parsed.success ? parsed.data : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}

/** What the next entry names: SHA-256 of the file, in hex. */
export function auditHash(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}
