/**
 * Copies an archive into another one of either layout. A copy that ended early is continued: events and files are known by their
 * names, and facts are added behind those that the target already has, in the order of the source.
 */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { removeIfThere } from '../lib/files/durable-files.ts';
import { temporaryName } from '../lib/files/files.ts';
import { messageOf } from '../lib/system-errors.ts';
import { wellFormedJson } from '../lib/wire/json.ts';
import type { Archive, Fact, UnreadableRecord } from './archive.ts';
import { ArchiveError } from './errors.ts';
import { csvPath, eventName } from './records.ts';

interface Copied {
  readonly copied: number;
  /** How many records and files the target already had. */
  readonly present: number;
}

export interface ArchiveCopy {
  readonly files: Copied;
  readonly events: Copied;
  readonly facts: Copied;
  /** Records that cannot be read in the source, or differ in the target. */
  readonly problems: readonly UnreadableRecord[];
}

interface CopyOptions {
  /** A folder of this machine that holds one file at a time; `cacheFolder` is the cache of a target on S3. */
  readonly temporaryFolder: string;
  readonly cacheFolder: string;
  readonly isDryRun: boolean;
  readonly onProgress: (done: number) => void;
}

/** The source is not changed. @throws ArchiveError `other-archive`: the target has records that the source lacks */
export async function copyArchive(from: Archive, to: Archive, options: CopyOptions): Promise<ArchiveCopy> {
  const problems: UnreadableRecord[] = [];
  const onUnreadable = (record: UnreadableRecord): void => void problems.push(record);
  let done = 0;
  const advance = (): void => {
    done += 1;
    options.onProgress(done);
  };

  const facts = await missingFacts(from, to, onUnreadable);
  const knownEvents = await namesIn(to);
  const sourceEvents = await namesIn(from);
  const foreign = [...knownEvents].filter((name) => !sourceEvents.has(name)).length + facts.foreign;
  if (foreign > 0) throw new ArchiveError('other-archive', [foreign]);

  // Files first and facts last, so that no fact of the target names a file that it lacks.
  const files = await copyFiles(from, to, { ...options, advance, onUnreadable });
  const events = { copied: 0, present: 0 };
  for await (const { event } of from.events({ onUnreadable })) {
    const isKnown = options.isDryRun
      ? knownEvents.has(eventName(event.eventId))
      : (await to.putEvent(event)) === 'known';
    events[isKnown ? 'present' : 'copied'] += 1;
    if (!options.isDryRun && wellFormedJson(await to.event(event.eventId)) !== wellFormedJson(event))
      onUnreadable({ where: `event ${event.eventId}`, why: 'the target has another content' });
    advance();
  }
  for (const fact of facts.missing) {
    if (!options.isDryRun) await to.putFact(fact);
    advance();
  }
  return { files, events, facts: { copied: facts.missing.length, present: facts.present }, problems };
}

async function namesIn(archive: Archive): Promise<ReadonlySet<string>> {
  return new Set(await Array.fromAsync(archive.eventNames()));
}

/** Equal facts are counted, so that each is in the target as often as in the source. */
async function missingFacts(
  from: Archive,
  to: Archive,
  onUnreadable: (record: UnreadableRecord) => void,
): Promise<{ readonly missing: readonly Fact[]; readonly present: number; readonly foreign: number }> {
  const there = new Map<string, number>();
  for await (const { fact } of to.factsAfter(null)) {
    const text = wellFormedJson(fact);
    there.set(text, (there.get(text) ?? 0) + 1);
  }
  const missing: Fact[] = [];
  let present = 0;
  for await (const { fact } of from.factsAfter(null, onUnreadable)) {
    const text = wellFormedJson(fact);
    const left = there.get(text) ?? 0;
    if (left === 0) missing.push(fact);
    else {
      present += 1;
      there.set(text, left - 1);
    }
  }
  const foreign = there.values().reduce((sum, left) => sum + left, 0);
  return { missing, present, foreign };
}

async function copyFiles(
  from: Archive,
  to: Archive,
  {
    temporaryFolder,
    cacheFolder,
    isDryRun,
    advance,
    onUnreadable,
  }: CopyOptions & {
    readonly advance: () => void;
    readonly onUnreadable: (record: UnreadableRecord) => void;
  },
): Promise<Copied> {
  const files = { copied: 0, present: 0 };
  for await (const file of from.files()) {
    const { sha256 } = file;
    const isSound = async (): Promise<boolean> =>
      (await to.file(sha256)) !== null && (await to.reread(sha256))?.sha256 === sha256;
    const isPresent = await isSound();
    files[isPresent ? 'present' : 'copied'] += 1;
    advance();
    if (isPresent || isDryRun) continue;
    const part = temporaryName(temporaryFolder);
    try {
      const { path = null } = (await from.reread(sha256)) ?? {};
      if (path === null) throw new RangeError('the source is damaged: its bytes have another hash');
      await copyFile(path, part);
      await to.putFile(part, file);
      if (!(await isSound())) throw new RangeError('the target has bytes of another hash');
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof ArchiveError)) throw error;
      onUnreadable({ where: csvPath(sha256), why: messageOf(error) });
    } finally {
      await removeIfThere(part);
      await removeIfThere(join(cacheFolder, csvPath(sha256)));
    }
  }
  return files;
}
