import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { openS3Bucket } from '../../archive/s3/bucket.ts';
import { createBillingService } from '../../billing/client.ts';
import { clockCheck, refuseWrongClock } from '../../lib/health/clocks.ts';
import { createHealth, reportedCheck } from '../../lib/health/health.ts';
import { startS3Proxy } from '../archive/s3-proxy.ts';
import { startS3Server } from '../archive/s3-server.ts';
import { serviceSettings } from '../billing/service-settings.ts';
import { testFolder } from '../support/folders.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { freePort } from '../support/processes/free-port.ts';

let service: ForeignService;
let s3: Awaited<ReturnType<typeof startS3Server>>;
beforeAll(async () => {
  [service, s3] = await Promise.all([startForeignService(), startS3Server()]);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await Promise.all([service?.close(), s3?.stop()]);
});
afterEach(() => void vi.restoreAllMocks());

/** Moves `Date.now()` only: the servers in this process write `new Date()` into their headers. */
function moveClock(ms: number): void {
  const { now } = Date;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + ms);
}

test('raises an alert for a clock difference, and refuses a start beyond five minutes', async () => {
  const folder = testFolder();
  const settings = serviceSettings(service, { dataDir: folder });
  const billing = createBillingService({
    settings,
    archive: await openFolderArchive(join(folder, 'archive')),
  });
  const proxy = await startS3Proxy(s3.url);
  vi.stubEnv('AWS_ENDPOINT_URL', proxy.url);
  const bucket = openS3Bucket('s3://clocks/prefix');
  const clocks = [billing.clock, bucket.clock];
  const health = createHealth();
  const { alerts, open } = memoryAlerts();
  const check = reportedCheck(clockCheck(clocks), { health, alerts });
  const alerted = async (): Promise<string | undefined> => {
    await check.run(new AbortController().signal);
    return open.get('clock')?.detail;
  };
  try {
    // The first request to S3 loads the client; on a busy machine that takes longer than a start waits.
    await Promise.all([billing.fetchToken(), bucket.clock.request().catch(() => undefined)]);
    await refuseWrongClock(clocks);
    expect(await alerted()).toBeUndefined();
    moveClock(40_000);
    expect(await alerted()).toMatch(
      /^this machine's clock is (39|40) s ahead of that of the billing service and (39|40) s ahead of that of the archive's S3$/,
    );
    await refuseWrongClock(clocks);
    vi.restoreAllMocks();
    expect(await alerted()).toBeUndefined();
    proxy.skewMs = 310_000;
    await bucket.clock.request().catch(() => undefined);
    expect(await alerted()).toBe("this machine's clock is 5 min behind that of the archive's S3");
    await expect(refuseWrongClock(clocks)).rejects.toMatchObject({
      exitCode: 1,
      message: "this machine's clock is 5 min behind that of the archive's S3; more than 5 min is refused",
    });
    moveClock(-360_000);
    await expect(refuseWrongClock([billing.clock])).rejects.toThrow(
      '6 min behind that of the billing service',
    );
  } finally {
    bucket.close();
    await proxy.stop();
    await billing.close();
  }
});

test('allows a start without an answer of the service', async () => {
  const folder = testFolder();
  const settings = serviceSettings(service, {
    dataDir: folder,
    baseUrl: `https://127.0.0.1:${await freePort()}`,
  });
  const billing = createBillingService({
    settings,
    archive: await openFolderArchive(join(folder, 'archive')),
  });
  const silent = { name: 'a silent one', aheadMs: () => null, request: () => new Promise(() => undefined) };
  moveClock(360_000);
  await refuseWrongClock([billing.clock, silent]);
  await billing.close();
});
