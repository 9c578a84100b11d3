/**
 * The archive in a bucket, for more than one machine: the same keys as the folder has files, `events/`, `files/`,
 * `facts/`, and a log of keys where the folder has a journal.
 *
 * Files are also kept in a local folder, because DuckDB reads from there; it may be removed at any time.
 */

import type { ArchivedFile } from '../contract/csv-file.js';
import { wellFormedJson } from '../contract/well-formed.js';
import { makeFolder, removeIfThere, sweepLeftBehind, temporaryName } from '../ops/durable-files.js';
import type { Archive, ArchivedEvent, DeliveryVerdict, Fact, OnUnreadable, StoredFile } from './archive.js';
import { describeFile } from './describe-file.js';
import { BY_PRECEDENCE, eventName, eventPath, isEventName } from './event-name.js';
import { openFileFolder } from './file-folder.js';
import { hashFile } from './hash-file.js';
import { readDescription, readEvent, readFact } from './read-record.js';
import type { S3Bucket } from './s3-bucket.js';
import { ArchivedFileDamagedError } from './s3-errors.js';
import { createS3Log } from './s3-log.js';
import { trimmedEvent } from './trim-event.js';

/** @param cacheFolder on this machine, for files that DuckDB is to read */
export async function openS3Archive(
  bucket: S3Bucket,
  cacheFolder: string,
  now: () => Date = () => new Date(),
): Promise<Archive> {
  await makeFolder(cacheFolder);
  await sweepLeftBehind(cacheFolder);
  const cache = await openFileFolder(cacheFolder);
  const arrivals = createS3Log(bucket, 'events/log', now);
  const factLog = createS3Log(bucket, 'facts', now);

  async function putEvent(event: ArchivedEvent): Promise<'new' | 'known'> {
    const better = BY_PRECEDENCE.slice(0, BY_PRECEDENCE.indexOf(event.verdict));
    for (const verdict of better) {
      if (await bucket.has(eventKey(event.eventId, verdict))) return 'known';
    }
    const key = eventKey(event.eventId, event.verdict);
    const isNew = await bucket.putIfAbsent(key, wellFormedJson(event));
    // Also when it is known: a process that died between the two puts left an event without a line.
    await arrivals.append(eventName(event.eventId), '');
    return isNew ? 'new' : 'known';
  }

  async function event(eventId: string, onUnreadable?: OnUnreadable): Promise<ArchivedEvent | null> {
    for (const verdict of BY_PRECEDENCE) {
      const key = eventKey(eventId, verdict);
      const bytes = await bucket.getBytes(key);
      if (bytes === null) continue;
      const reading = readEvent(bytes);
      if (reading.ok && eventName(reading.value.eventId) === eventName(eventId)) return reading.value;
      onUnreadable?.({ where: key, why: reading.ok ? 'another event than its name says' : reading.why });
      return null;
    }
    return null;
  }

  /** Until the last event of a batch the cursor stays: who stops before it gets the batch again. */
  async function* events(
    options: { readonly after?: string; readonly onUnreadable?: OnUnreadable } = {},
  ): AsyncGenerator<{ event: ArchivedEvent; cursor: string }> {
    const before = options.after ?? '';
    const { keys, cursor } = await arrivals.since(before);
    const found = new Map<string, ArchivedEvent>();
    const ids = [...new Set(keys.map(arrivals.nameOf))].filter(isEventName);
    for await (const [id, archived] of readAhead(ids, (name) => event(name, options.onUnreadable))) {
      if (archived !== null) found.set(id, archived);
    }
    const ordered = [...found.values()].sort(byArrival);
    for (const [i, archived] of ordered.entries()) {
      yield { event: archived, cursor: i === ordered.length - 1 ? cursor : before };
    }
  }

  async function* eventNames(): AsyncGenerator<string> {
    const there = new Set<string>();
    for await (const key of bucket.list('events/by-id')) there.add(key);
    const { keys } = await arrivals.since(null);
    for (const name of new Set(keys.map(arrivals.nameOf))) {
      if (isEventName(name) && BY_PRECEDENCE.some((verdict) => there.has(eventKey(name, verdict))))
        yield name;
    }
  }

  /** What is lost or damaged in the bucket is put there again, so that bringing a file once more heals it. */
  async function putFile(path: string, file: ArchivedFile): Promise<ArchivedFile> {
    const { sha256, sizeBytes, scan } = file;
    const [known, csv] = await Promise.all([scanned(sha256), lookAtCsv(file)]);
    if (known === null || csv !== 'sound') {
      const actual = await hashFile(path);
      if (actual !== sha256) throw new RangeError(`A file ${actual} was to be archived as ${sha256}.`);
    }
    if (csv !== 'sound') {
      await bucket.putFile(csvKey(sha256), path, { sha256, sizeBytes, replaces: csv === 'damaged' });
    }
    // The scan comes last: a file counts as archived only with it.
    if (known === null) {
      await bucket.putIfAbsent(scanKey(sha256), JSON.stringify({ sha256, sizeBytes, scan }));
    }
    await cache.put(path, known ?? { sha256, sizeBytes, scan });
    return known ?? { sha256, sizeBytes, scan };
  }

  /** By what S3 says of the object; it is read unless S3 says that its hash is the file's. */
  async function lookAtCsv(file: ArchivedFile): Promise<'sound' | 'damaged' | 'missing'> {
    const { sha256, sizeBytes } = file;
    const head = await bucket.head(csvKey(sha256));
    if (head === null) return 'missing';
    if (head.sizeBytes !== sizeBytes) return 'damaged';
    if (head.sha256 === sha256) return 'sound';
    return (await bring(file))?.sha256 === sha256 ? 'sound' : 'damaged';
  }

  async function scanned(sha256: string): Promise<ArchivedFile | null> {
    const bytes = await bucket.getBytes(scanKey(sha256));
    if (bytes === null) return null;
    const reading = readDescription(bytes);
    return reading.ok && reading.value.sha256 === sha256 ? reading.value : describeAgain(sha256);
  }

  /** The bucket's own description stays damaged: the one that is made again lies in the cache. */
  async function describeAgain(sha256: string): Promise<ArchivedFile | null> {
    const known = await cache.get(sha256);
    if (known !== null) return known;
    const part = temporaryName(cacheFolder);
    try {
      if ((await bucket.download(csvKey(sha256), part)) !== sha256) return null;
      const described = await describeFile(part);
      await cache.replace(part, described);
      return described;
    } finally {
      await removeIfThere(part);
    }
  }

  async function getFile(sha256: string): Promise<ArchivedFile | null> {
    const file = await scanned(sha256);
    return file !== null && (await bucket.has(csvKey(sha256))) ? file : null;
  }

  async function localPath(sha256: string): Promise<string> {
    if ((await cache.get(sha256)) !== null) return cache.path(sha256);
    const stored = await reread(sha256);
    if (stored === null) throw new Error(`The archive has no file ${sha256}.`);
    if (stored.path === null) throw new ArchivedFileDamagedError(sha256, stored.sha256);
    return stored.path;
  }

  async function reread(sha256: string): Promise<StoredFile | null> {
    const file = await scanned(sha256);
    return file === null ? null : bring(file);
  }

  /** Into the cache, over what lies there; bytes of another hash never get there. */
  async function bring(file: ArchivedFile): Promise<StoredFile | null> {
    const part = temporaryName(cacheFolder);
    try {
      const found = await bucket.download(csvKey(file.sha256), part);
      if (found === null) return null;
      if (found !== file.sha256) return { sha256: found, path: null };
      await cache.replace(part, file);
      return { sha256: found, path: cache.path(file.sha256) };
    } finally {
      await removeIfThere(part);
    }
  }

  async function* files(): AsyncGenerator<ArchivedFile> {
    for await (const key of bucket.list('files')) {
      const sha256 = /\/([0-9a-f]{64})\.json$/.exec(key)?.[1];
      const file = sha256 === undefined ? null : await getFile(sha256);
      if (file !== null) yield file;
    }
  }

  async function* factsAfter(
    cursor: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<{ readonly fact: Fact; readonly cursor: string }> {
    const { keys, cursor: behind } = await factLog.since(cursor);
    let last: Fact | null = null;
    for await (const [key, bytes] of readAhead(keys, bucket.getBytes)) {
      const reading = bytes === null ? { ok: false as const, why: 'listed and not there' } : readFact(bytes);
      if (!reading.ok) {
        onUnreadable?.({ where: key, why: reading.why });
        continue;
      }
      if (last !== null) yield { fact: last, cursor: cursor ?? '' };
      last = reading.value;
    }
    if (last !== null) yield { fact: last, cursor: behind };
  }

  async function* facts(onUnreadable?: OnUnreadable): AsyncGenerator<Fact> {
    const all: Fact[] = [];
    for await (const { fact } of factsAfter(null, onUnreadable)) all.push(fact);
    // Array.sort is stable: facts of one instant stay in order of writing.
    yield* all.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  }

  async function removeFile(sha256: string): Promise<void> {
    await bucket.remove(csvKey(sha256));
    await bucket.remove(scanKey(sha256));
    await cache.remove(sha256);
  }

  async function trimEvent(eventId: string, at: string): Promise<boolean> {
    const found = await event(eventId);
    const trimmed = found === null ? null : trimmedEvent(found, at);
    if (trimmed === null) return false;
    await bucket.replace(eventKey(eventId, trimmed.verdict), wellFormedJson(trimmed));
    return true;
  }

  return {
    putEvent,
    event: (eventId) => event(eventId),
    events,
    eventNames,
    putFile,
    file: getFile,
    localPath,
    reread,
    files,
    removeFile,
    trimEvent,
    putFact: (fact) => factLog.append(fact.kind, wellFormedJson(fact)),
    facts,
    factsAfter,
    close: async () => bucket.close(),
  };
}

/** How many objects are asked for at once: a rebuild reads all of them. */
const READ_AHEAD = 16;

/** In their order. */
async function* readAhead<T>(
  names: readonly string[],
  read: (name: string) => Promise<T>,
): AsyncGenerator<readonly [string, T]> {
  for (let from = 0; from < names.length; from += READ_AHEAD) {
    const some = names.slice(from, from + READ_AHEAD);
    yield* await Promise.all(some.map(async (name) => [name, await read(name)] as const));
  }
}

const eventKey = (eventId: string, verdict: DeliveryVerdict): string =>
  `events/by-id/${eventPath(eventId, verdict)}`;

function csvKey(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new RangeError('A SHA-256 is 64 lower-case hex digits.');
  return `files/${sha256.slice(0, 2)}/${sha256}.csv`;
}

const scanKey = (sha256: string): string => csvKey(sha256).replace(/\.csv$/, '.json');

function byArrival(a: ArchivedEvent, b: ArchivedEvent): number {
  const key = (event: ArchivedEvent): string => `${event.receivedAt}~${event.eventId}`;
  return key(a) < key(b) ? -1 : 1;
}
