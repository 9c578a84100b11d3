/** One archive in a folder and in a bucket: nothing is lost or doubled on the way, in either direction. */

import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Archive, Fact } from '../../archive/archive.ts';
import { copyArchive } from '../../archive/copy-archive.ts';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { describeFile } from '../../archive/records.ts';
import { openS3Archive } from '../../archive/s3/archive.ts';
import { openS3Bucket } from '../../archive/s3/bucket.ts';
import { testFolder } from '../support/folders.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv } from '../warehouse/support.ts';
import { anArchivedEvent } from './an-event.ts';
import { aFact } from './contract.ts';
import { startS3Server } from './s3-server.ts';

let server: Awaited<ReturnType<typeof startS3Server>>;
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

async function aBucket(): Promise<string> {
  const bucket = `b-${randomUUID()}`;
  await request(`${server.url}/${bucket}`, { method: 'PUT' });
  return `s3://${bucket}/some/prefix`;
}

const inBucket = (url: string) => openS3Archive(openS3Bucket(url), testFolder());

async function putFile(archive: Archive, bytes: Buffer): Promise<string> {
  const path = join(testFolder(), 'file.csv');
  writeFileSync(path, bytes);
  return (await archive.putFile(path, await describeFile(path))).sha256;
}

/** Facts of one instant, two equal ones, an event of each verdict, and one whose body was removed. */
async function fill(archive: Archive): Promise<void> {
  const at = '2026-03-01T00:00:00.000Z';
  for (const name of ['b', 'a', 'b']) await archive.putFact(aFact(at, name));
  await archive.putFact(aFact('2025-01-01T00:00:00.000Z', 'earlier'));
  for (const verdict of ['accepted', 'quarantined', 'test'] as const)
    await archive.putEvent(anArchivedEvent({ verdict }));
  const trimmed = anArchivedEvent({ envelope: '{"a":1}' });
  await archive.putEvent(trimmed);
  await archive.trimEvent(trimmed.eventId, at);
  for (const cost of ['1.00', '2.00']) await putFile(archive, aCsv([{ 'Billing Cost': cost }]));
}

async function contentOf(archive: Archive) {
  const events = await Array.fromAsync(archive.events(), ({ event }) => event);
  const facts: Fact[] = await Array.fromAsync(archive.factsAfter(null), ({ fact }) => fact);
  const files = await Array.fromAsync(archive.files());
  const hashes = await Promise.all(files.map(async ({ sha256 }) => (await archive.reread(sha256))?.sha256));
  return { events, facts, files: files.map(({ sha256 }) => sha256).sort(), hashes: hashes.sort() };
}

const options = () => {
  const temporaryFolder = testFolder();
  return { temporaryFolder, cacheFolder: testFolder(), isDryRun: false, onProgress: () => undefined };
};

test('a copy in a bucket, and a copy of that in a folder, have the same records in the same order', async () => {
  const source = await openFolderArchive(testFolder());
  await fill(source);
  const content = await contentOf(source);
  const bucket = await inBucket(await aBucket());
  expect(await copyArchive(source, bucket, options())).toEqual({
    files: { copied: 2, present: 0 },
    events: { copied: 4, present: 0 },
    facts: { copied: 4, present: 0 },
    problems: [],
  });
  const back = await openFolderArchive(testFolder());
  await copyArchive(bucket, back, options());
  expect(await contentOf(bucket)).toEqual(content);
  expect(await contentOf(back)).toEqual(content);
  expect(await contentOf(source)).toEqual(content);
});

test('a copy that ended at any record is continued without doubling one', async () => {
  const source = await openFolderArchive(testFolder());
  await fill(source);
  const copy = await openFolderArchive(testFolder());
  let ends = 0;
  for (let limit = 1; limit === ends + 1; limit += 1) {
    const onProgress = (done: number) => {
      if (done === limit) throw new Error('ended');
    };
    await copyArchive(source, copy, { ...options(), onProgress }).catch((error: Error) => {
      expect(error.message).toBe('ended');
      ends += 1;
    });
  }
  expect(ends).toBeGreaterThan(6);
  expect((await copyArchive(source, copy, options())).problems).toEqual([]);
  expect(await contentOf(copy)).toEqual(await contentOf(source));
  await putFile(source, aCsv([{ 'Billing Cost': '3.00' }]));
  await source.putFact(aFact('2024-01-01T00:00:00.000Z', 'later, by a slow clock'));
  expect(await copyArchive(source, copy, options())).toMatchObject({
    ...{ files: { copied: 1, present: 2 }, events: { copied: 0 }, facts: { copied: 1, present: 4 } },
  });
  expect(await contentOf(copy)).toEqual(await contentOf(source));
});

test('the command names what is damaged, copies the rest, and refuses another archive', async () => {
  const dataDir = join(testFolder(), 'data');
  const source = await openFolderArchive(join(dataDir, 'archive'));
  await fill(source);
  const damaged = await putFile(source, aCsv([{ 'Billing Cost': '4.00' }]));
  appendFileSync(join(dataDir, 'archive/files', damaged.slice(0, 2), `${damaged}.csv`), 'x');
  const env = { BILLSYNC_DATA_DIR: dataDir };
  const to = await aBucket();
  const dry = await runCommand(['archive', 'copy', to, '--dry-run', '--json'], { env });
  expect(JSON.parse(dry.stdout)).toMatchObject({ is_dry_run: true, facts: { copied: 4 } });
  const run = await runCommand(['archive', 'copy', to, '--json'], { env });
  expect(run.exitCode).toBe(1);
  expect(JSON.parse(run.stdout)).toMatchObject({
    ...{ to, events: { copied: 4, present: 0 }, facts: { copied: 4, present: 0 } },
    problems: [{ where: expect.stringContaining(damaged) }],
  });
  expect((await contentOf(await inBucket(to))).files).toHaveLength(2);
  const other = testFolder();
  await (await openFolderArchive(other)).putFact(aFact('2026-01-01T00:00:00.000Z', 'x'));
  const refused = await runCommand(['archive', 'copy', other], { env });
  expect([refused.exitCode, refused.stderr]).toEqual([7, expect.stringContaining('no copy of it')]);
  const itself = await runCommand(['archive', 'copy', join(dataDir, 'archive')], { env });
  expect(itself.exitCode).toBe(2);
});

test('the layout of the other place is recognized', async () => {
  const synced = testFolder();
  mkdirSync(join(synced, 'events/by-id'), { recursive: true });
  await expect(openFolderArchive(synced)).rejects.toMatchObject({ code: 'other-layout' });
  const url = await aBucket();
  const bucket = openS3Bucket(url);
  const folder = testFolder();
  await fill(await openFolderArchive(folder));
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (/journal/.test(file)) await bucket.putIfAbsent(file, readFileSync(join(folder, file), 'utf8'));
  const opened = await inBucket(url);
  await expect(Array.fromAsync(opened.factsAfter(null))).rejects.toMatchObject({ code: 'other-layout' });
});
