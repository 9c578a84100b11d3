import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { createBillingService } from '../../billing/client.ts';
import { BillingError } from '../../billing/errors.ts';
import { DOWNLOADS_PER_HOST, HostTurns } from '../../billing/host-turns.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { serviceSettings } from '../billing/service-settings.ts';
import { testFolder } from '../support/folders.ts';
import { makeCertificates } from '../support/foreign-billing.ts';
import { listen } from '../support/listen.ts';

/** In these tests a second has 20 ms: a slow file ends after three, as a small one does at its host. */
const SECOND_MS = 20;
const SLOW_FILES = 60;

test('60 slow files hold up neither an honest one of their host nor another host, and the host is named', async () => {
  const reported: string[] = [];
  const turns = new HostTurns({
    onSlow: (host, isSlow) => reported.push(`${host} ${isSlow}`),
    patienceMs: 2 * SECOND_MS,
  });
  const slots = createSemaphore(32);
  const stopping = new AbortController();
  let inSlots = 0;
  let retriesBefore = 0;
  let hasArrived = false;

  /** As the workflow does: an attempt in an activity slot, then the pause that the error names. */
  async function fetchUntilDone(key: string, host: string, work: () => Promise<void>): Promise<void> {
    while (!stopping.signal.aborted) {
      const seconds = await slots(async () => {
        inSlots += 1;
        try {
          await turns.run(host, { key, signal: stopping.signal }, async (attempt) => {
            if (attempt > 0 && !hasArrived) retriesBefore += 1;
            await work();
          });
          return null;
        } catch (error) {
          return error instanceof BillingError ? (error.retryAfterSeconds ?? 1) : null;
        } finally {
          inSlots -= 1;
        }
      });
      if (seconds === null) return;
      await sleep(seconds * SECOND_MS);
    }
  }
  const drip = async (): Promise<void> => {
    await sleep(3 * SECOND_MS);
    throw new BillingError('deadline-exceeded', ['slow.example', 'sent 0 bytes per second']);
  };
  const attacks = Array.from({ length: SLOW_FILES }, (_, index) =>
    fetchUntilDone(`slow-${index}`, 'slow.example', drip),
  );
  await sleep(5 * SECOND_MS);
  const other = performance.now();
  await fetchUntilDone('other', 'fast.example', async () => undefined);
  expect(performance.now() - other).toBeLessThan(5 * SECOND_MS);
  // Those that wait for a turn have left their slots to other hosts.
  await expect.poll(() => inSlots, { interval: 1 }).toBeLessThanOrEqual(DOWNLOADS_PER_HOST + 1);
  const honest = performance.now();
  await fetchUntilDone('honest', 'slow.example', async () => undefined);
  hasArrived = true;
  const seconds = (performance.now() - honest) / SECOND_MS;
  expect(seconds).toBeLessThan(90);
  expect(reported).toEqual(['slow.example true']);
  expect(retriesBefore).toBeLessThan(SLOW_FILES);
  stopping.abort(new Error('done'));
  await Promise.allSettled(attacks);
});

test('first attempts go before retries', async () => {
  const turns = new HostTurns({ onSlow: () => undefined });
  const turn = (key: string) => ({ key, signal: undefined });
  const tooSlow = () => Promise.reject(new BillingError('deadline-exceeded', ['host', 'slow']));
  await turns.run('host', turn('retried'), tooSlow).catch(() => undefined);
  const gate = Promise.withResolvers<void>();
  const running = Array.from({ length: DOWNLOADS_PER_HOST }, (_, index) =>
    turns.run('host', turn(`${index}`), () => gate.promise),
  );
  const order: string[] = [];
  const waiting = ['retried', 'first', 'second'].map((key) =>
    turns.run('host', turn(key), async () => void order.push(key)),
  );
  gate.resolve();
  await Promise.all([...running, ...waiting]);
  expect(order).toEqual(['first', 'second', 'retried']);
});

test('a file of 592 bytes has 3 s, and more at each further attempt', async () => {
  const folder = testFolder();
  const { caPem, certPem, keyPem } = await makeCertificates();
  writeFileSync(join(folder, 'ca.pem'), caPem);
  const server = createServer({ cert: certPem, key: keyPem }, (_request, answer) => {
    answer.writeHead(200, { 'content-length': 592 });
    const drip = setInterval(() => answer.write('a'), 500);
    answer.once('close', () => clearInterval(drip));
  });
  const url = `https://127.0.0.1:${await listen(server)}`;
  const archive = await openFolderArchive(join(folder, 'archive'));
  const service = {
    baseUrl: url,
    authUrl: url,
    clientId: 'a',
    clientSecret: 'b',
    caFile: join(folder, 'ca.pem'),
  };
  const billing = createBillingService({ settings: serviceSettings(service, { dataDir: folder }), archive });
  const location = {
    presignedUrl: `${url}/a.csv`,
    presignedUrlExpiresAt: '2099-01-01T00:00:00Z',
    fileHashSha256: 'a'.repeat(64),
    fileSizeBytes: 592,
  };
  const seconds: number[] = [];
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const began = performance.now();
    await expect(
      billing.downloadCsv({ invoiceId: 'one', location, source: 'regenerate' }),
    ).rejects.toMatchObject({ code: 'deadline-exceeded' });
    seconds.push((performance.now() - began) / 1_000);
  }
  expect(seconds[0]).toBeGreaterThanOrEqual(2.9);
  expect(seconds[0]).toBeLessThan(5.9);
  expect(seconds[1]).toBeGreaterThanOrEqual(5.9);
  expect(seconds[1]).toBeLessThan(15);
  await billing.close();
  await archive.close();
  server.close();
});
