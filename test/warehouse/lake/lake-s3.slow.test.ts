import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { describeError, EXIT } from '../../../cli/errors.ts';
import { createHealth } from '../../../lib/health/health.ts';
import { giveS3Credentials } from '../../../warehouse/lake/attach-lake.ts';
import { removeFiles } from '../../../warehouse/lake/rebuild-lake.ts';
import { rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import { openOrRebuild } from '../../../worker/open-or-rebuild.ts';
import { startS3Proxy } from '../../archive/s3-proxy.ts';
import { startS3Server } from '../../archive/s3-server.ts';
import { memoryAlerts } from '../../support/memory-alerts.ts';
import { aCsv, aWarehouse, INVOICE, loadCsv, makeDataDir, silent } from '../support.ts';
import { type LakeServer, lookAtLake, queryLake, startLakeServer } from './support.ts';

let server: LakeServer;
let s3: Awaited<ReturnType<typeof startS3Server>>;
let client: S3Client;
beforeAll(async () => {
  [server, s3] = await Promise.all([startLakeServer(), startS3Server()]);
  stubAws();
  client = new S3Client({ forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: 'lake' }));
});
beforeEach(stubAws);
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(async () => {
  client?.destroy();
  await s3?.stop();
  await server?.stop();
});

function stubAws(): void {
  vi.stubEnv('AWS_ENDPOINT_URL', s3.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'a-key');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'a-secret');
}

async function objects(prefix: string): Promise<number> {
  return (await client.send(new ListObjectsV2Command({ Bucket: 'lake', Prefix: prefix }))).KeyCount ?? 0;
}

test('rows lie in the bucket, are read from there, verified, and rebuilt beside the old ones', async () => {
  const settings = await server.aLake(makeDataDir(), 's3://lake/billing');
  const t = await aWarehouse({ settings });
  await loadCsv(t, aCsv([{ 'Billing Cost': '5' }]));
  await loadCsv(t, aCsv([{ 'Billing Cost': '6' }, {}]));
  expect(await objects('billing/generation-1/')).toBe(2);
  const rows = await queryLake(settings, 'select invoice_id, billing_cost from shipments order by all');
  expect(rows).toEqual([
    { invoice_id: INVOICE, billing_cost: '6.0000' },
    { invoice_id: INVOICE, billing_cost: '9.1600' },
  ]);
  // Credentials of a role end; readers and writers, locked as they are, get new ones.
  const look = await lookAtLake(settings);
  await giveS3Credentials((statement) => look.run(statement), 's3://lake/billing');
  look.closeSync();
  expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  expect(await t.warehouse.tidy?.()).toMatchObject({ removedLoads: 0 });
  await t.warehouse.close();

  await rebuildWarehouse({ settings, archive: t.archive, log: silent });
  expect(await objects('billing/generation-2/')).toBe(2);
  await removeFiles('s3://lake/billing/generation-1/');
  expect([await objects('billing/generation-1/'), await objects('billing/generation-2/')]).toEqual([0, 2]);
  expect(await queryLake(settings, 'select invoice_id, billing_cost from shipments order by all')).toEqual(
    rows,
  );
  await t.close();
});

test('reports a missing bucket as a wrong setting when the lake is opened', async () => {
  const settings = await server.aLake(makeDataDir(), 's3://nowhere/billing');
  const opening = await aWarehouse({ settings }).catch((error: unknown) => error);
  expect(describeError(opening)).toEqual({
    exitCode: EXIT.usage,
    what: `the lake's S3 at ${s3.url} has no bucket nowhere`,
    subject: `s3://nowhere/billing at ${s3.url}`,
    hint: 'create the bucket, or name another one in BILLSYNC_LAKE_DATA',
  });
});

test('waits for S3 when a worker starts without it', async () => {
  const proxy = await startS3Proxy(s3.url);
  proxy.fault = () => 'break';
  vi.stubEnv('AWS_ENDPOINT_URL', proxy.url);
  vi.stubEnv('AWS_MAX_ATTEMPTS', '1');
  const t = await aWarehouse();
  const { alerts, open } = memoryAlerts();
  const opening = openOrRebuild({
    settings: await server.aLake(makeDataDir(), 's3://lake/waiting'),
    ...{ archive: t.archive, log: silent, alerts, health: createHealth() },
  });
  await vi.waitFor(() => expect(open.get('warehouse')?.detail).toContain('does not answer'), 20_000);
  proxy.fault = () => null;
  await (await opening).close();
  expect(open.size).toBe(0);
  await t.close();
  await proxy.stop();
});
