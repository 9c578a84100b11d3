/** Keys equal the folder's paths; logs of keys take the place of the journals. */

import { makeFolder, removeIfThere } from '../../lib/files/durable-files.ts';
import { sweepLeftBehind, temporaryName } from '../../lib/files/files.ts';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { wellFormedJson } from '../../lib/wire/json.ts';
import type { Archive, ArchivedEvent, DeliveryVerdict, Fact, OnUnreadable, StoredFile } from '../archive.ts';
import { ArchiveError } from '../errors.ts';
import { openFileFolder } from '../folder-files.ts';
import {
  arrivalKey,
  BY_PRECEDENCE,
  csvPath,
  describeFile,
  eventName,
  eventPath,
  findEvent,
  hashFile,
  inOrderOfInstants,
  isEventName,
  readDescription,
  readFact,
  scanPath,
  trimmedEvent,
} from '../records.ts';
import type { S3Bucket } from './bucket.ts';
import { createS3Log } from './log.ts';

const EVENTS = 'events/by-id';
const CONCURRENT_READS = 16;

export async function openS3Archive(bucket: S3Bucket, cacheFolder: string): Promise<Archive> {
  return {
    ...openEvents(bucket),
    ...(await openFiles(bucket, cacheFolder)),
    ...openFacts(bucket),
    clock: bucket.clock,
    close: async () => bucket.close(),
  };
}

function openEvents(
  bucket: S3Bucket,
): Pick<Archive, 'putEvent' | 'event' | 'events' | 'eventNames' | 'trimEvent'> {
  const arrivals = createS3Log(bucket, 'events/log');
  const namesOf = (keys: readonly string[]): string[] =>
    [...new Set(keys.map(arrivals.nameOf))].filter(isEventName);
  const keyOf = (eventId: string, verdict: DeliveryVerdict): string =>
    `${EVENTS}/${eventPath(eventId, verdict)}`;
  const read = (eventId: string, onUnreadable?: OnUnreadable): Promise<ArchivedEvent | null> =>
    findEvent(eventId, EVENTS, (path) => bucket.getBytes(`${EVENTS}/${path}`), onUnreadable);

  return {
    async putEvent(event) {
      const better = BY_PRECEDENCE.slice(0, BY_PRECEDENCE.indexOf(event.verdict));
      for (const verdict of better) {
        if (await bucket.has(keyOf(event.eventId, verdict))) return 'known';
      }
      const isNew = await bucket.putIfAbsent(keyOf(event.eventId, event.verdict), wellFormedJson(event));
      // A known event gets a line too, because a process that was killed before this left it without one.
      await arrivals.append(eventName(event.eventId), '');
      return isNew ? 'new' : 'known';
    },
    event: (eventId) => read(eventId),
    /** The cursor advances with the last event, so a reader that stops earlier gets the others again. */
    async *events({ after = '', onUnreadable } = {}) {
      const { keys, cursor } = await arrivals.since(after);
      const found: ArchivedEvent[] = [];
      for await (const [, event] of readEach(namesOf(keys), (name) => read(name, onUnreadable))) {
        if (event !== null) found.push(event);
      }
      found.sort((a, b) => (arrivalKey(a) < arrivalKey(b) ? -1 : 1));
      for (const event of found) yield { event, cursor: event === found.at(-1) ? cursor : after };
    },
    async *eventNames() {
      const there = new Set(await Array.fromAsync(bucket.list(EVENTS)));
      const { keys } = await arrivals.since(null);
      for (const name of namesOf(keys)) {
        if (BY_PRECEDENCE.some((verdict) => there.has(keyOf(name, verdict)))) yield name;
      }
    },
    async trimEvent(eventId, at) {
      const event = await read(eventId);
      const trimmed = event === null ? null : trimmedEvent(event, at);
      if (trimmed === null) return false;
      await bucket.replace(keyOf(eventId, trimmed.verdict), wellFormedJson(trimmed));
      return true;
    },
  };
}

function openFacts(bucket: S3Bucket): Pick<Archive, 'putFact' | 'facts' | 'factsAfter'> {
  const log = createS3Log(bucket, 'facts');

  async function* factsAfter(
    after: string | null,
    onUnreadable?: OnUnreadable,
  ): AsyncGenerator<{ readonly fact: Fact; readonly cursor: string }> {
    const { keys, cursor } = await log.since(after);
    let last: Fact | null = null;
    for await (const [key, bytes] of readEach(keys, bucket.getBytes)) {
      const reading = bytes === null ? { ok: false as const, why: 'listed and missing' } : readFact(bytes);
      if (!reading.ok) {
        onUnreadable?.({ where: key, why: reading.why });
        continue;
      }
      if (last !== null) yield { fact: last, cursor: after ?? '' };
      last = reading.value;
    }
    if (last !== null) yield { fact: last, cursor };
  }

  return {
    putFact: (fact) => log.append(fact.kind, wellFormedJson(fact)),
    facts: (onUnreadable) => inOrderOfInstants(factsAfter(null, onUnreadable)),
    factsAfter,
  };
}

type FileStore = Pick<Archive, 'putFile' | 'file' | 'localPath' | 'reread' | 'files' | 'removeFile'>;

async function openFiles(bucket: S3Bucket, cacheFolder: string): Promise<FileStore> {
  await makeFolder(cacheFolder);
  await sweepLeftBehind(cacheFolder);
  const cache = await openFileFolder(cacheFolder);
  const csvKey = (sha256: string): string => `files/${csvPath(sha256)}`;
  const scanKey = (sha256: string): string => `files/${scanPath(sha256)}`;

  /** The temporary file is removed after `work`, unless `work` has moved it. */
  async function downloaded<T>(
    sha256: string,
    work: (found: string | null, path: string) => Promise<T>,
  ): Promise<T> {
    const part = temporaryName(cacheFolder);
    try {
      return await work(await bucket.download(csvKey(sha256), part), part);
    } finally {
      await removeIfThere(part);
    }
  }

  async function description(sha256: string): Promise<ArchivedFile | null> {
    const bytes = await bucket.getBytes(scanKey(sha256));
    if (bytes === null) return null;
    const reading = readDescription(bytes);
    if (reading.ok && reading.value.sha256 === sha256) return reading.value;
    const cached = await cache.get(sha256);
    if (cached !== null) return cached;
    return downloaded(sha256, async (found, path) => {
      if (found !== sha256) return null;
      const described = await describeFile(path);
      await cache.replace(path, described);
      return described;
    });
  }

  const fetchCopy = (file: ArchivedFile): Promise<StoredFile | null> =>
    downloaded(file.sha256, async (found, path) => {
      if (found === null) return null;
      if (found !== file.sha256) return { sha256: found, path: null };
      await cache.replace(path, file);
      return { sha256: found, path: cache.path(file.sha256) };
    });

  async function checkCsv(file: ArchivedFile): Promise<'sound' | 'damaged' | 'missing'> {
    const head = await bucket.head(csvKey(file.sha256));
    if (head === null) return 'missing';
    if (head.sizeBytes !== file.sizeBytes) return 'damaged';
    if (head.sha256 === file.sha256) return 'sound';
    return (await fetchCopy(file))?.sha256 === file.sha256 ? 'sound' : 'damaged';
  }

  async function get(sha256: string): Promise<ArchivedFile | null> {
    const file = await description(sha256);
    return file !== null && (await bucket.has(csvKey(sha256))) ? file : null;
  }

  async function reread(sha256: string): Promise<StoredFile | null> {
    const file = await description(sha256);
    return file === null ? null : fetchCopy(file);
  }

  return {
    async putFile(path, file) {
      const { sha256, sizeBytes } = file;
      const [known, csv] = await Promise.all([description(sha256), checkCsv(file)]);
      if (known === null || csv !== 'sound') {
        const actual = await hashFile(path);
        if (actual !== sha256) throw new RangeError(`A file ${actual} was to be archived as ${sha256}.`);
      }
      if (csv !== 'sound') {
        await bucket.putFile(csvKey(sha256), path, { sha256, sizeBytes, replaces: csv === 'damaged' });
      }
      // The description is written last, because a file counts as archived only with it.
      if (known === null) await bucket.putIfAbsent(scanKey(sha256), JSON.stringify(file));
      await cache.put(path, known ?? file);
      return known ?? file;
    },
    file: get,
    reread,
    async localPath(sha256) {
      if ((await cache.get(sha256)) !== null) return cache.path(sha256);
      const stored = await reread(sha256);
      if (stored === null) throw new Error(`The archive has no file ${sha256}.`);
      if (stored.path === null) throw new ArchiveError('archived-file-damaged', [sha256, stored.sha256]);
      return stored.path;
    },
    async *files() {
      for await (const key of bucket.list('files')) {
        const sha256 = /\/([0-9a-f]{64})\.json$/.exec(key)?.[1];
        const file = sha256 === undefined ? null : await get(sha256);
        if (file !== null) yield file;
      }
    },
    async removeFile(sha256) {
      await bucket.remove(csvKey(sha256));
      await bucket.remove(scanKey(sha256));
      await cache.remove(sha256);
    },
  };
}

async function* readEach<T>(
  names: readonly string[],
  read: (name: string) => Promise<T>,
): AsyncGenerator<readonly [name: string, found: T]> {
  for (let from = 0; from < names.length; from += CONCURRENT_READS) {
    const some = names.slice(from, from + CONCURRENT_READS);
    yield* await Promise.all(some.map(async (name) => [name, await read(name)] as const));
  }
}
