import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openS3Client } from '../../archive/s3/bucket.ts';
import { EXIT } from '../../cli/errors.ts';
import { testFolder } from '../support/folders.ts';
import { billsync, type Finished } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv, INVOICE, sha256 } from '../warehouse/support.ts';
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts';
import { startS3Server } from './s3-server.ts';

const REGION = { AWS_REGION: 'us-east-1' };
const KEYS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' };
const CREDENTIALS = { ...REGION, ...KEYS };

let server: Awaited<ReturnType<typeof startS3Server>>;
let proxy: S3Proxy;
let folder: string;
let bucket: string;

beforeAll(async () => {
  server = await startS3Server();
  proxy = await startS3Proxy(server.url);
});

afterAll(async () => {
  await proxy.stop();
  await server.stop();
});

beforeEach(async () => {
  folder = testFolder();
  await mkdir(join(folder, 'data'), { mode: 0o700 });
  bucket = `b-${randomUUID()}`;
  await request(`${server.url}/${bucket}`, { method: 'PUT' });
  proxy.fault = () => null;
  return () => rm(folder, { recursive: true, force: true });
});

/** With nothing of the AWS of the machine that runs the tests. */
function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = CREDENTIALS,
  start = runCommand,
): Promise<Finished> {
  return start(args, {
    cwd: folder,
    env: {
      BILLSYNC_DATA_DIR: join(folder, 'data'),
      BILLSYNC_ARCHIVE: `s3://${bucket}/here`,
      HOME: folder,
      AWS_ENDPOINT_URL: proxy.url,
      AWS_EC2_METADATA_DISABLED: 'true',
      ...env,
    },
  });
}

describe('a command', () => {
  test('names an endpoint that does not answer', async () => {
    // Without the progress line that a slow machine would print.
    const { exitCode, stderr } = await run(['verify', '--quiet'], {
      ...CREDENTIALS,
      AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    });
    expect(stderr).toBe(
      "billsync: the archive's S3 at http://127.0.0.1:1 does not answer (connect ECONNREFUSED 127.0.0.1:1)\n" +
        `  s3://${bucket}/here at http://127.0.0.1:1\n` +
        '  → check AWS_ENDPOINT_URL, AWS_REGION and the network, then `billsync doctor`\n',
    );
    expect(exitCode).toBe(EXIT.unreachable);
  });

  test('names a missing bucket', async () => {
    const { exitCode, stderr } = await run(['verify'], {
      ...CREDENTIALS,
      BILLSYNC_ARCHIVE: 's3://no-such-bucket/here',
    });
    expect(stderr).toContain('has no bucket no-such-bucket\n');
    expect(stderr).toContain('BILLSYNC_ARCHIVE');
    expect(exitCode).toBe(EXIT.usage);
  });

  test.each([
    [REGION, 'there are no credentials', 'AWS_ACCESS_KEY_ID'],
    [KEYS, 'the region', 'AWS_REGION'],
    [{ ...CREDENTIALS, AWS_REGION: 'us east' }, 'the region', 'AWS_REGION'],
    [
      { ...CREDENTIALS, AWS_ENDPOINT_URL: 's3.example.com' },
      'AWS_ENDPOINT_URL is not an address',
      'https://',
    ],
  ])('reports missing or wrong settings: %j', async (env, what, hint) => {
    const { exitCode, stderr } = await run(['verify'], env);
    expect(stderr).toContain(what);
    expect(stderr).toContain(hint);
    expect(exitCode).toBe(EXIT.usage);
  });

  test.each([
    [403, 'InvalidAccessKeyId', EXIT.refused, 'refuses its credentials (403 InvalidAccessKeyId)'],
    [403, 'SignatureDoesNotMatch', EXIT.refused, 'refuses its credentials (403 SignatureDoesNotMatch)'],
    [400, 'ExpiredToken', EXIT.refused, 'refuses its credentials (400 ExpiredToken)'],
    [301, 'PermanentRedirect', EXIT.usage, 'is in another region'],
    [503, 'SlowDown', EXIT.unreachable, 'answers 503 SlowDown'],
  ])('reports the answer of S3: %d %s', async (status, code, exitCode, what) => {
    proxy.fault = () => ({ status, code });
    const finished = await run(['verify', '--quiet']);
    expect(finished.stderr).toContain(what);
    expect(finished.stderr.trimEnd().split('\n')).toHaveLength(3);
    expect(finished.exitCode).toBe(exitCode);
  });
});

test('verifies the bucket, and an import repairs it', async () => {
  const csv = aCsv([{}, {}]);
  const hash = sha256(csv);
  const path = join(folder, 'invoice.csv');
  await writeFile(path, csv);
  const object = { Bucket: bucket, Key: `here/files/${hash.slice(0, 2)}/${hash}.csv` };
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = openS3Client({ endpoint: server.url, region: 'us-east-1', credentials });
  // Node warns once in a process.
  const importing = await run(['import', path, '--quiet'], CREDENTIALS, billsync);
  expect(importing).toMatchObject({ exitCode: EXIT.done, stderr: '' });
  expect(await run(['verify', '--quiet'], CREDENTIALS, billsync)).toMatchObject({
    exitCode: EXIT.done,
    stderr: '',
  });

  await client.send(new PutObjectCommand({ ...object, Body: 'other bytes' }));
  const damaged = await run(['verify', '--json']);
  expect(JSON.parse(damaged.stdout)).toMatchObject({ drift: [{ rule: 'hash', expected: hash }] });
  expect(damaged.exitCode).toBe(EXIT.checkFailed);

  await client.send(new DeleteObjectCommand(object));
  client.destroy();
  const lost = await run(['verify']);
  expect(lost.stdout).toContain('file-missing');
  expect(lost.stderr).toContain('`billsync import FILE`');
  expect(lost.exitCode).toBe(EXIT.checkFailed);

  expect((await run(['import', path])).exitCode).toBe(EXIT.done);
  expect((await run(['verify'])).exitCode).toBe(EXIT.done);
});

test('reports lost facts as drift, and a rebuild replaces nothing', async () => {
  const path = join(folder, 'invoice.csv');
  await writeFile(path, aCsv([{}, {}]));
  expect((await run(['import', path, '--quiet'])).exitCode).toBe(EXIT.done);
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const client = openS3Client({ endpoint: server.url, region: 'us-east-1', credentials });
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket: bucket, Prefix: 'here/facts/' }),
  );
  const lost = Contents.filter(({ Key }) => Key?.endsWith('~load'));
  expect(lost).toHaveLength(1);
  for (const { Key } of lost) await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
  client.destroy();

  const verified = await run(['verify', '--json']);
  expect(JSON.parse(verified.stdout)).toMatchObject({
    drift: [{ rule: 'fact-missing', invoice_id: INVOICE }],
  });
  expect(verified.exitCode).toBe(EXIT.checkFailed);

  const losses = [{ invoice_id: INVOICE, load_id: 1, why: 'the archive has no fact of this load' }];
  for (const flags of [['--dry-run'], []]) {
    const refused = await run(['rebuild', '--json', ...flags]);
    expect(JSON.parse(refused.stdout)).toMatchObject({ loads: 0, is_replaced: false, losses });
    expect(refused.stderr).toContain('--accept-loss');
    expect(refused.exitCode).toBe(EXIT.checkFailed);
  }
  const listed = await run(['invoices', 'list', '--json']);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ invoice_id: INVOICE, shipments: 2 }]);

  const accepted = await run(['rebuild', '--json', '--accept-loss']);
  expect(JSON.parse(accepted.stdout)).toMatchObject({ invoices: 0, is_replaced: true, losses });
  expect(accepted.exitCode).toBe(EXIT.checkFailed);
});
