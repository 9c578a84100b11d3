/** The archive on S3 keeps the promises of the one in a folder, also among several machines whose clocks differ. */

import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Archive, ArchivedEvent, Fact } from '../../archive/archive.ts';
import { openArchive } from '../../archive/open-archive.ts';
import { describeFile } from '../../archive/records.ts';
import { openS3Archive } from '../../archive/s3/archive.ts';
import { openS3Bucket } from '../../archive/s3/bucket.ts';
import { aCsv } from '../warehouse/support.ts';
import { anArchivedEvent } from './an-event.ts';
import { startS3Proxy } from './s3-proxy.ts';
import { startS3Server } from './s3-server.ts';

let server: Awaited<ReturnType<typeof startS3Server>>;
let dataDir: string;
let url: string;
let archive: Archive;

beforeAll(async () => {
  server = await startS3Server();
  vi.stubEnv('AWS_ENDPOINT_URL', server.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await server.stop();
});

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 's3-archive-'));
  const bucket = `b-${randomUUID()}`;
  await request(`${server.url}/${bucket}`, { method: 'PUT' });
  url = `s3://${bucket}/some/prefix`;
  archive = await openArchive({
    archive: { kind: 's3', url },
    warehouse: { kind: 'duckdb', path: join(dataDir, 'warehouse.duckdb') },
    dataDir,
  });
});

async function anotherMachine(): Promise<Archive> {
  return openS3Archive(
    openS3Bucket(url, { endpoint: server.url }),
    await mkdtemp(join(tmpdir(), 's3-other-')),
  );
}

/** Works on a machine whose clock goes wrong by that many milliseconds. */
async function withClockOff<T>(skewMs: number, work: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + skewMs });
  try {
    return await work();
  } finally {
    vi.useRealTimers();
  }
}

async function read(from: Archive, after?: string): Promise<{ event: ArchivedEvent; cursor: string }[]> {
  const found = [];
  for await (const each of from.events(after === undefined ? {} : { after })) found.push(each);
  return found;
}

describe('events', () => {
  test('reports exactly one of many concurrent puts as new', async () => {
    const other = await anotherMachine();
    const event = anArchivedEvent();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 ? archive : other).putEvent(event)),
    );
    expect(answers.filter((answer) => answer === 'new')).toHaveLength(1);
    expect(await archive.event(event.eventId.toUpperCase())).toEqual(event);
    expect(await archive.event(randomUUID())).toBeNull();
    expect((await read(other)).map((each) => each.event)).toEqual([event]);
  });

  test('lists events by receivedAt and resumes after a cursor', async () => {
    const first = anArchivedEvent({ receivedAt: '2026-03-02T00:00:00.000Z' });
    const second = anArchivedEvent({ receivedAt: '2026-03-01T00:00:00.000Z' });
    await archive.putEvent(first);
    await archive.putEvent(second);
    const found = await read(archive);
    expect(found.map(({ event }) => event)).toEqual([second, first]);
    expect(await read(archive, found.at(-1)?.cursor)).toEqual([]);

    const later = anArchivedEvent();
    await archive.putEvent(later);
    const more = await read(archive, found.at(-1)?.cursor);
    expect(more.map(({ event }) => event)).toEqual([later]);
    expect(await read(archive, more.at(-1)?.cursor)).toEqual([]);
    expect(await read(archive, found[0]?.cursor)).toHaveLength(3);
  });

  test('misses no event or fact although clocks differ by hours', async () => {
    const hour = 3_600_000;
    const other = await anotherMachine();
    const found: string[] = [];
    const facts: string[] = [];
    let [after, factsAfter]: [string | undefined, string | null] = [undefined, null];
    for (const [index, skewMs] of [5 * hour, 0, -5 * hour, hour, -hour].entries()) {
      await withClockOff(skewMs, async () => {
        await other.putEvent(anArchivedEvent({ eventId: `event-${index}` }));
        const at = '2026-03-01T00:00:00.000Z';
        await other.putFact({ kind: 'duplicate', at, eventId: `event-${index}` });
      });
      await withClockOff(-skewMs, async () => {
        for (const { event, cursor } of await read(archive, after)) {
          found.push(event.eventId);
          after = cursor;
        }
        for await (const { fact, cursor } of archive.factsAfter(factsAfter)) {
          if (fact.kind === 'duplicate') facts.push(fact.eventId);
          factsAfter = cursor;
        }
      });
    }
    const all = ['event-0', 'event-1', 'event-2', 'event-3', 'event-4'];
    expect({ found, facts }).toEqual({ found: all, facts: all });
  });

  test('lists an event after its paused writer confirmed it', async () => {
    const proxy = await startS3Proxy(server.url);
    try {
      vi.stubEnv('AWS_ENDPOINT_URL', proxy.url);
      const [writer, reader] = [await anotherMachine(), await anotherMachine()];
      let resume = (): void => undefined;
      const isHeld = new Promise<void>((held) => {
        proxy.hold = ({ method, url: path }) => {
          if (method !== 'PUT' || path?.includes('/events/log/') !== true) return null;
          proxy.hold = () => null;
          held();
          return new Promise((go) => {
            resume = go;
          });
        };
      });
      const paused = anArchivedEvent({ eventId: 'paused' });
      const putting = writer.putEvent(paused);
      await isHeld;
      proxy.skewMs = 20 * 60_000;
      await reader.event('paused');
      await reader.putEvent(anArchivedEvent({ eventId: 'meanwhile' }));
      const found = await read(reader);
      expect(found.map(({ event }) => event.eventId)).toEqual(['meanwhile']);
      resume();
      await putting;
      const more = await read(reader, found.at(-1)?.cursor);
      expect(more.map(({ event }) => event.eventId)).toEqual(['paused']);
    } finally {
      vi.stubEnv('AWS_ENDPOINT_URL', server.url);
      await proxy.stop();
    }
  });

  test('lists an accepted event again after a refused one of the same id', async () => {
    const refused = anArchivedEvent({ verdict: 'quarantined', reason: 'foreign-partner' });
    await archive.putEvent(refused);
    const [{ cursor } = { cursor: '' }] = await read(archive);
    const accepted = anArchivedEvent({ eventId: refused.eventId });
    expect(await archive.putEvent(accepted)).toBe('new');
    expect(await archive.putEvent(refused)).toBe('known');
    expect((await read(archive, cursor)).map(({ event }) => event)).toEqual([accepted]);
  });
});

describe('files', () => {
  const bytes = 'Tenant\r\n'.repeat(50_000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const scan = {
    ...{ records: 0, longestRecordBytes: 8, findings: [], findingCount: 0, endsWithLineEnd: true },
    cuts: [],
  };

  test('reads a file without a local copy', async () => {
    const path = join(dataDir, 'download');
    await writeFile(path, bytes);
    const file = { sha256, sizeBytes: bytes.length, scan };
    expect(await archive.putFile(path, file)).toEqual(file);
    await rm(path, { force: true });
    const other = await anotherMachine();
    expect(await other.file(sha256)).toEqual(file);
    for (let round = 0; round < 2; round += 1) {
      const local = await other.localPath(sha256);
      expect(await readFile(local, 'utf8')).toBe(bytes);
      await rm(local);
    }
    const files = [];
    for await (const each of archive.files()) files.push(each);
    expect(files).toEqual([file]);
    await expect(archive.localPath('0'.repeat(64))).rejects.toThrow('no file');
  });

  test('bytes of another hash are refused', async () => {
    const path = join(dataDir, 'download');
    await writeFile(path, `${bytes}.`);
    await expect(archive.putFile(path, { sha256, sizeBytes: bytes.length + 1, scan })).rejects.toThrow(
      `archived as ${sha256}`,
    );
    expect(await archive.file(sha256)).toBeNull();
  });
});

test('lists facts by instant and resumes after a cursor', async () => {
  const fact = (at: string, eventId: string): Fact => ({ kind: 'duplicate', at, eventId });
  await archive.putFact(fact('2026-03-02T00:00:00.000Z', 'b'));
  await archive.putFact(fact('2026-03-01T00:00:00.000Z', 'a'));
  const found = [];
  for await (const each of archive.facts()) found.push(each);
  expect(found).toMatchObject([{ eventId: 'a' }, { eventId: 'b' }]);
  let cursor: string | null = null;
  for await (const each of archive.factsAfter(null)) cursor = each.cursor;
  await archive.putFact(fact('2026-01-01T00:00:00.000Z', 'c'));
  const more = [];
  for await (const each of archive.factsAfter(cursor)) more.push(each.fact);
  expect(more).toMatchObject([{ eventId: 'c' }]);
});

test('reports a damaged fact by its key', async () => {
  const fact = (eventId: string): Fact => ({ kind: 'duplicate', at: '2026-03-01T00:00:00.000Z', eventId });
  await archive.putFact(fact('a'));
  const bucket = openS3Bucket(url, { endpoint: server.url });
  await bucket.putIfAbsent('facts/2999-01-01T00:00:00.000Z~x~duplicate', '{"kind":"duplicate"');
  const reported: string[] = [];
  let cursor: string | null = null;
  for await (const each of archive.factsAfter(null, ({ where }) => reported.push(where)))
    cursor = each.cursor;
  expect(reported).toEqual(['facts/2999-01-01T00:00:00.000Z~x~duplicate']);
  const again = [];
  for await (const each of archive.factsAfter(cursor)) again.push(each);
  expect(again).toEqual([]);
});

test('reports a damaged event, rebuilds a description, and hides no other', async () => {
  const bytes = aCsv();
  const path = join(dataDir, 'download');
  await writeFile(path, bytes);
  const file = await describeFile(path);
  await archive.putFile(path, file);
  for (const eventId of ['a1', 'b2', 'c3']) await archive.putEvent(anArchivedEvent({ eventId }));
  const { hostname: Bucket } = new URL(url);
  const client = new S3Client({ forcePathStyle: true });
  const description = `files/${file.sha256.slice(0, 2)}/${file.sha256}.json`;
  for (const key of ['events/by-id/b2/b2.json', description]) {
    await client.send(new PutObjectCommand({ Bucket, Key: `some/prefix/${key}`, Body: '{"receivedAt":5' }));
  }
  client.destroy();
  const [reported, found]: [string[], string[]] = [[], []];
  const other = await anotherMachine();
  for await (const { event } of other.events({ onUnreadable: ({ where }) => reported.push(where) })) {
    found.push(event.eventId);
  }
  expect({ reported, found: found.sort() }).toEqual({
    reported: ['events/by-id/b2/b2.json'],
    found: ['a1', 'c3'],
  });
  expect(await other.event('b2')).toBeNull();
  expect(await other.file(file.sha256)).toEqual(file);
  expect(await other.reread(file.sha256)).toMatchObject({ sha256: file.sha256 });
});

test('purges a file with its local copy and keeps the hash of an event', async () => {
  const path = join(dataDir, 'download');
  await writeFile(path, aCsv());
  const { sha256 } = await archive.putFile(path, await describeFile(path));
  const event = anArchivedEvent({ eventId: 'a1', envelope: '{"a":1}' });
  await archive.putEvent(event);
  const at = '2026-03-01T00:00:00.000Z';
  for (const time of ['once', 'again']) {
    await archive.removeFile(sha256);
    expect(await archive.file(sha256), time).toBeNull();
    expect(await archive.reread(sha256), time).toBeNull();
    await expect(archive.localPath(sha256)).rejects.toThrow('has no file');
    expect(await archive.trimEvent('a1', at)).toBe(time === 'once');
  }
  const hash = createHash('sha256').update('{"a":1}').digest('hex');
  const trimmed = { at, sha256: hash, sizeBytes: 7 };
  expect(await (await anotherMachine()).event('a1')).toEqual({ ...event, envelope: '', trimmed });
  expect(await archive.putEvent(event)).toBe('known');
});
