import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { describeFile } from '../../archive/records.ts';
import { openS3Archive } from '../../archive/s3/archive.ts';
import { openS3Bucket } from '../../archive/s3/bucket.ts';
import { anArchivedEvent } from '../archive/an-event.ts';
import { startS3Server } from '../archive/s3-server.ts';
import { testFolder } from '../support/folders.ts';
import { aCsv, sha256 } from '../warehouse/support.ts';

let server: Awaited<ReturnType<typeof startS3Server>>;

beforeAll(async () => {
  server = await startS3Server();
  vi.stubEnv('AWS_ENDPOINT_URL', server.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  await request(`${server.url}/smoke`, { method: 'PUT' });
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await server?.stop();
});

test('stores an event and a file in a bucket for every machine', async () => {
  const folder = testFolder();
  const archiveOf = (machine: string) =>
    openS3Archive(openS3Bucket('s3://smoke/prefix'), join(folder, machine));
  const [writer, reader] = await Promise.all([archiveOf('writer'), archiveOf('reader')]);
  try {
    const event = anArchivedEvent();
    expect([await writer.putEvent(event), await writer.putEvent(event)]).toEqual(['new', 'known']);
    const bytes = aCsv();
    const path = join(folder, 'download.csv');
    await writeFile(path, bytes);
    await writer.putFile(path, await describeFile(path));

    const events = [];
    for await (const each of reader.events({})) events.push(each.event);
    expect(events).toEqual([event]);
    expect(await readFile(await reader.localPath(sha256(bytes)))).toEqual(bytes);
  } finally {
    await Promise.all([writer.close(), reader.close()]);
  }
});
