import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Archive } from '../../archive/archive.ts';
import { openArchive } from '../../archive/open-archive.ts';
import { describeFile } from '../../archive/records.ts';
import { openS3Archive } from '../../archive/s3/archive.ts';
import { openS3Bucket } from '../../archive/s3/bucket.ts';
import { testFolder } from '../support/folders.ts';
import { aCsv } from '../warehouse/support.ts';
import { anArchivedEvent } from './an-event.ts';
import { aFact, archiveContract } from './contract.ts';
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
  dataDir = testFolder();
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
  return openS3Archive(openS3Bucket(url), testFolder());
}

archiveContract(async () => ({ archive, another: anotherMachine }));

test('reports a damaged fact by its key', async () => {
  await archive.putFact(aFact('2026-03-01T00:00:00.000Z', 'a'));
  const bucket = openS3Bucket(url);
  await bucket.putIfAbsent('facts/2999-01-01T00:00:00.000Z~x~duplicate', '{"kind":"duplicate"');
  const reported: string[] = [];
  const found = await Array.fromAsync(archive.factsAfter(null, ({ where }) => reported.push(where)));
  expect(reported).toEqual(['facts/2999-01-01T00:00:00.000Z~x~duplicate']);
  expect(await Array.fromAsync(archive.factsAfter(found.at(-1)?.cursor ?? null))).toEqual([]);
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
  const reported: string[] = [];
  const other = await anotherMachine();
  const options = { onUnreadable: ({ where }: { where: string }) => void reported.push(where) };
  const found = await Array.fromAsync(other.events(options), ({ event }) => event.eventId);
  expect({ reported, found: found.sort() }).toEqual({
    reported: ['events/by-id/b2/b2.json'],
    found: ['a1', 'c3'],
  });
  expect(await other.event('b2')).toBeNull();
  expect(await other.file(file.sha256)).toEqual(file);
  expect(await other.reread(file.sha256)).toMatchObject({ sha256: file.sha256 });
});
