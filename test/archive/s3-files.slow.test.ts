import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DeleteObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Archive } from '../../archive/archive.ts';
import { openS3Archive } from '../../archive/s3/archive.ts';
import { openS3Bucket, openS3Client } from '../../archive/s3/bucket.ts';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { openWarehouse, rebuildWarehouse } from '../../warehouse/open-warehouse.ts';
import { testFolder } from '../support/folders.ts';
import {
  aCsv,
  archiveCsv,
  INVOICE,
  makeDataDir,
  settingsFor,
  silent,
  tickingClock,
} from '../warehouse/support.ts';
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts';
import { startS3Server } from './s3-server.ts';

const PART_BYTES = 5 << 20;

let server: Awaited<ReturnType<typeof startS3Server>>;
let proxy: S3Proxy;
let client: S3Client;
let bucket: string;
let archive: Archive;
let folder: string;

beforeAll(async () => {
  server = await startS3Server();
  proxy = await startS3Proxy(server.url);
  vi.stubEnv('AWS_ENDPOINT_URL', proxy.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  client = openS3Client({ endpoint: server.url });
});

afterAll(async () => {
  vi.unstubAllEnvs();
  client.destroy();
  await proxy.stop();
  await server.stop();
});

beforeEach(async () => {
  bucket = `b-${randomUUID()}`;
  await request(`${server.url}/${bucket}`, { method: 'PUT' });
  proxy.fault = () => null;
  proxy.requests.length = 0;
  folder = testFolder();
  archive = await aMachine();
  return async () => {
    await archive.close();
  };
});

/** Its cache is its own, the bucket that of all. */
async function aMachine(dataDir?: string): Promise<Archive> {
  const own = dataDir ?? (await mkdtemp(join(folder, 'machine-')));
  return openS3Archive(
    openS3Bucket(`s3://${bucket}/here`, { partBytes: PART_BYTES }),
    join(own, 'run', 'archive-cache'),
  );
}

const scan = {
  ...{ records: 0, findings: [], findingCount: 0, endsWithLineEnd: true },
  cuts: [],
};

const fileOf = (bytes: Buffer): ArchivedFile => ({
  sha256: createHash('sha256').update(bytes).digest('hex'),
  sizeBytes: bytes.length,
  scan,
});

async function put(bytes: Buffer, into = archive): Promise<ArchivedFile> {
  const path = join(folder, randomUUID());
  await writeFile(path, bytes);
  return into.putFile(path, fileOf(bytes));
}

const at = ({ sha256 }: { readonly sha256: string }) => ({
  Bucket: bucket,
  Key: `here/files/${sha256.slice(0, 2)}/${sha256}.csv`,
});

const lose = (file: ArchivedFile) => client.send(new DeleteObjectCommand(at(file)));
const damage = (file: ArchivedFile, Body: string) => client.send(new PutObjectCommand({ ...at(file), Body }));

async function openUploads(): Promise<number> {
  return ((await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? []).length;
}

async function onAnotherMachine(file: ArchivedFile): Promise<string> {
  const other = await aMachine();
  return fileOf(await readFile(await other.localPath(file.sha256))).sha256;
}

const partNumberOf = (url = ''): string | null => new URL(url, proxy.url).searchParams.get('partNumber');

describe('a large file', () => {
  const bytes = randomBytes(2 * PART_BYTES + 4_321);

  test('is uploaded in parts with checksums and read back equal', async () => {
    const checksums: unknown[] = [];
    proxy.fault = ({ url, headers }) => {
      if (partNumberOf(url) !== null) checksums.push(headers['x-amz-checksum-sha256']);
      return null;
    };
    const file = await put(bytes);
    const parts = [0, 1, 2].map((part) => bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES));
    expect(new Set(checksums)).toEqual(
      new Set(parts.map((part) => createHash('sha256').update(part).digest('base64'))),
    );
    expect(await onAnotherMachine(file)).toBe(file.sha256);
    expect(await openUploads()).toBe(0);
  });

  test.each([
    ['is refused for a moment', { status: 503, code: 'SlowDown' }],
    ['is cut off', 'break'],
  ] as const)('gets there although a part of it %s', async (_what, fault) => {
    let failures = 0;
    proxy.fault = ({ method, url }) => {
      if (method !== 'PUT' || partNumberOf(url) !== '2' || failures > 0) return null;
      failures += 1;
      return fault;
    };
    const file = await put(bytes);
    expect(failures).toBe(1);
    expect(await onAnotherMachine(file)).toBe(file.sha256);
  });

  test('leaves no file and no open upload when a part fails', async () => {
    proxy.fault = ({ url }) => (partNumberOf(url) === '2' ? { status: 503, code: 'SlowDown' } : null);
    await expect(put(bytes)).rejects.toThrow(/the archive's S3 at http.* answers 503 SlowDown/);
    expect(proxy.requests.at(-1)).toBe('DELETE ?uploadId&x-id=AbortMultipartUpload');
    expect(await openUploads()).toBe(0);
    expect(await archive.file(fileOf(bytes).sha256)).toBeNull();
    proxy.fault = () => null;
    expect(await onAnotherMachine(await put(bytes))).toBe(fileOf(bytes).sha256);
  });

  test('keeps the first of two concurrent uploads', async () => {
    const files = await Promise.all([put(bytes), put(bytes, await aMachine())]);
    expect(files).toEqual([fileOf(bytes), fileOf(bytes)]);
    expect(await openUploads()).toBe(0);
    expect(await onAnotherMachine(fileOf(bytes))).toBe(fileOf(bytes).sha256);
  });

  test('replaces other bytes of the same size', async () => {
    const file = await put(bytes);
    await damage(file, 'x'.repeat(bytes.length));
    await put(bytes);
    expect(await onAnotherMachine(file)).toBe(file.sha256);
  });
});

describe('a file of one part', () => {
  const bytes = randomBytes(4_321);

  test('is uploaded in one request, with retries', async () => {
    let failures = 0;
    proxy.fault = ({ method, url }) => {
      if (method !== 'PUT' || url?.includes('.csv') !== true || failures > 0) return null;
      failures += 1;
      return { status: 503, code: 'SlowDown' };
    };
    const file = await put(bytes);
    expect(failures).toBe(1);
    const head = await client.send(new HeadObjectCommand({ ...at(file), ChecksumMode: 'ENABLED' }));
    expect(head.ChecksumSHA256).toBe(Buffer.from(file.sha256, 'hex').toString('base64'));
    expect(await onAnotherMachine(file)).toBe(file.sha256);
  });

  test('is reported as lost until it is stored again', async () => {
    const file = await put(bytes);
    await lose(file);
    expect(await archive.file(file.sha256)).toBeNull();
    await put(bytes);
    expect(await archive.file(file.sha256)).toEqual(file);
    expect(await onAnotherMachine(file)).toBe(file.sha256);
  });

  test.each(['short', 'x'.repeat(bytes.length)])('replaces other bytes', async (other) => {
    const file = await put(bytes);
    await damage(file, other);
    await put(bytes);
    expect(await onAnotherMachine(file)).toBe(file.sha256);
  });

  test('is not read when it is damaged in the bucket', async () => {
    const file = await put(bytes);
    await damage(file, 'other');
    await expect(onAnotherMachine(file)).rejects.toThrow(`file ${file.sha256} is damaged`);
  });
});

describe('a file that another machine puts there at the same moment', () => {
  /** The first check finds nothing; the write reports the conflict. */
  function hideOnce(): void {
    let looks = 0;
    proxy.fault = ({ method, url }) => {
      if (method !== 'HEAD' || url?.includes('.csv') !== true) return null;
      looks += 1;
      return looks === 1 ? { status: 404, code: 'NotFound' } : null;
    };
  }

  test.each([4_321, PART_BYTES + 1])('is refused when it has fewer than %d bytes', async (size) => {
    const bytes = randomBytes(size);
    await damage(fileOf(bytes), 'short');
    hideOnce();
    await expect(put(bytes)).rejects.toMatchObject({ name: 'PreconditionFailed' });
    expect(await archive.file(fileOf(bytes).sha256)).toBeNull();
    expect(await openUploads()).toBe(0);
  });
});

describe('a server without conditional writes', () => {
  beforeEach(() => {
    proxy.fault = ({ headers }) =>
      headers['if-none-match'] === undefined ? null : { status: 501, code: 'NotImplemented' };
  });

  test.each([4_321, PART_BYTES + 1])('stores a file of %d bytes', async (size) => {
    const file = await put(randomBytes(size));
    expect(await archive.file(file.sha256)).toEqual(file);
    expect(await onAnotherMachine(file)).toBe(file.sha256);
    expect(await openUploads()).toBe(0);
  });
});

describe('reread', () => {
  const bytes = randomBytes(4_321);
  const { sha256 } = fileOf(bytes);

  test('reads the bucket, not the cache', async () => {
    const file = await put(bytes);
    expect((await archive.reread(sha256))?.sha256).toBe(sha256);
    await damage(file, 'other');
    const other = createHash('sha256').update('other').digest('hex');
    expect(await archive.reread(sha256)).toEqual({ sha256: other, path: null });
    // The copy on this machine is none the worse for it.
    expect((await readFile(await archive.localPath(sha256))).equals(bytes)).toBe(true);
    await lose(file);
    expect(await archive.reread(sha256)).toBeNull();
  });

  test('reports bytes that contradict the checksum of S3', async () => {
    await put(bytes);
    proxy.fault = ({ method, url }) => (method === 'GET' && url?.includes('.csv') ? 'damage' : null);
    expect(await archive.reread(sha256)).toMatchObject({ path: null });
  });
});

describe('a warehouse over it', () => {
  const csv = aCsv([{}, {}]);

  async function open(isRebuilt: boolean) {
    const dataDir = makeDataDir(folder);
    const settings = {
      ...settingsFor(dataDir),
      archive: { kind: 's3', url: `s3://${bucket}/here` },
    } as const;
    const own = await aMachine(dataDir);
    const options = { settings, archive: own, log: silent, now: tickingClock() };
    if (isRebuilt) await rebuildWarehouse(options);
    return { dataDir, archive: own, warehouse: await openWarehouse(options) };
  }

  async function load(into: Awaited<ReturnType<typeof open>>): Promise<ArchivedFile> {
    const file = await archiveCsv(into, csv);
    const outcome = await into.warehouse.load({
      ...{ invoiceId: INVOICE, sha256: file.sha256, source: 'file', announcedSha256: null },
      ...{ eventId: null, workflowRunId: null },
    });
    expect(outcome.outcome).toBe('loaded');
    return file;
  }

  test.each([
    ['whole', 2, []],
    ['damaged', 0, ['load-missing']],
    ['lost', 0, ['load-missing']],
  ] as const)(
    'is made again on another machine from a bucket where the file is %s',
    async (state, shipments, rules) => {
      const machine = await open(false);
      const file = await load(machine);
      await machine.warehouse.close();
      if (state === 'damaged') await damage(file, 'other bytes');
      if (state === 'lost') await lose(file);
      const { warehouse } = await open(true);
      try {
        const found = await warehouse.verify({ full: true });
        expect(found.shipments).toBe(shipments);
        expect(found.drift.map(({ rule }) => rule)).toEqual(rules);
      } finally {
        await warehouse.close();
      }
    },
  );
});
