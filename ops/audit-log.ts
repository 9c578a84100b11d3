/**
 * What people did, one file for each entry: `audit/000000001.json`, made once and never written again. Each names the hash of
 * the one before, so that an entry that is changed, taken out or put in between is found (ADR 20).
 *
 * Names are given by an exclusive link, which needs no lock: of two processes that write at once one takes the number, the
 * other reads that entry and takes the next.
 */

import { join } from 'node:path';
import { naming } from '../config/system-error.ts';
import { BillsyncError, EXIT } from '../contract/errors.ts';
import { beginningOf, wellFormedJson } from '../contract/well-formed.ts';
import { auditEntriesIn, auditFileName, auditHash, readAuditEntry } from './audit-chain.ts';
import { createDurably, makeFolder } from './durable-files.ts';
import type { Scrub } from './scrub.ts';

/** What somebody did, or began to do. */
export interface AuditNote {
  /** Name of the user on this machine, or of the operator at the dashboard. */
  readonly by: string;
  readonly via: 'command' | 'dashboard';
  /** A command's words, `quarantine discard`; the dashboard's actions have the same. */
  readonly action: string;
  /** What it was done to: ids, files. */
  readonly target: readonly string[];
  /** In the person's words; null when nobody asked. */
  readonly reason: string | null;
  /** `begun` stands before the work, one of the others after it; without them the process ended meanwhile. */
  readonly outcome: 'begun' | 'done' | 'failed';
  /** What came of it, in a sentence; empty while it is begun. */
  readonly detail: string;
  /** Number of the entry that began it; null for that one. */
  readonly began: number | null;
}

export interface AuditEntry extends AuditNote {
  /** From 1, without gaps. */
  readonly number: number;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** SHA-256 of the file before, in hex; of nothing for the first. */
  readonly previous: string;
}

export interface AuditLog {
  /** Durable before it resolves, also behind an entry that was damaged. @throws the system's error */
  write(note: AuditNote): Promise<AuditEntry>;
  /** Newest first. Entries that cannot be read are left out; `verifyAudit` finds them. */
  newest(limit: number): Promise<readonly AuditEntry[]>;
}

/** So many processes never write at once. */
export class AuditBusyError extends BillsyncError {
  readonly code = 'audit-busy';
  override readonly exitCode = EXIT.locked;
}

/** More at once than people ever do. */
const MOST_TRIES = 1_000;
/** Of each text, in characters. */
const LONGEST_TEXT = 2_000;

/**
 * @param folder `audit` of the data folder; it is made when something is written
 * @param options.scrub takes secrets out of what is kept: the words of an error may repeat one
 */
export function openAuditLog(
  folder: string,
  options: { readonly now?: () => Date; readonly scrub?: Scrub } = {},
): AuditLog {
  const { now = () => new Date(), scrub = (text: string) => text } = options;
  const stored = auditEntriesIn(folder);
  const kept = (text: string): string => beginningOf(scrub(text), LONGEST_TEXT);
  return {
    async write(note) {
      await makeFolder(folder);
      for (let tries = 0; tries < MOST_TRIES; tries += 1) {
        const last = (await stored.numbers()).at(-1) ?? 0;
        // One that was damaged stops nobody: whatever lies there now is what the next one names.
        const before = last === 0 ? '' : await stored.bytes(last);
        const entry: AuditEntry = {
          number: last + 1,
          at: now().toISOString(),
          ...note,
          target: note.target.map(kept),
          reason: note.reason === null ? null : kept(note.reason),
          detail: kept(note.detail),
          previous: auditHash(before),
        };
        const path = join(folder, auditFileName(entry.number));
        if (await createDurably(path, `${wellFormedJson(entry)}\n`).catch(naming(path))) return entry;
      }
      throw new AuditBusyError('The audit log gave no number', { subject: folder, hint: 'try again' });
    },
    async newest(limit) {
      const numbers = (await stored.numbers()).slice(-limit).reverse();
      const files = await Promise.all(numbers.map(stored.bytes));
      return files.flatMap((bytes) => readAuditEntry(bytes) ?? []);
    },
  };
}

/** What surrounds an act: noted before and after. @throws whatever `work` throws, once that is noted too */
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
