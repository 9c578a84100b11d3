import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EmbeddedTemporal } from '../../lib/temporal/embedded.ts';
import { publishedPath } from '../../worker/publication-listeners.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import { dashboardOver } from '../dashboard/support.ts';
import { eventually } from '../support/eventually.ts';
import { settled } from './books.ts';
import { aRig, type Rig } from './rig.ts';

let rig: Rig;
let server: EmbeddedTemporal;
let worker: RunningWorker;
beforeAll(async () => {
  rig = await aRig();
});
afterAll(() => rig.close());

describe('worker', { shuffle: false }, () => {
  test('starts without Temporal, waits for it, and loads what was billed', async () => {
    worker = await rig.startWorker();
    expect(rig.health.report().components.temporal?.isHealthy).toBe(false);
    server = await rig.startTemporal();
    await worker.ready;
    const [first, second] = [
      await rig.service.createInvoice(),
      await rig.service.createInvoice({ tenant: null }),
    ];
    await rig.service.finalize(first.invoiceId);
    await rig.service.finalize(second.invoiceId);
    await rig.forward();
    await settled(rig, worker);
    await rig.service.void(first.invoiceId);
    await rig.forward();
    await settled(rig, worker);
    expect((await worker.warehouse.invoice(first.invoiceId))?.state).toBe('voided');
    expect(rig.service.complaints).toEqual([]);
    expect(rig.health.report().components.temporal?.isHealthy).toBe(true);
  });

  test('reports a stopped Temporal on every page within 15 s, and its return', async () => {
    const dashboard = await dashboardOver(publishedPath(rig.settings), { health: rig.health });
    const pages = [
      '/',
      '/invoices',
      '/events',
      '/quarantine',
      '/alerts',
      '/reports',
      '/reports/tenants',
      '/health',
    ];
    const isReported = async () => {
      const texts = await Promise.all(pages.map(async (page) => (await fetch(dashboard.url + page)).text()));
      // The page of health has it in its table.
      const message =
        /class="unhealthy[ "].*<strong>temporal<\/strong>.*does not answer|<td>temporal<\/td>.*unhealthy/;
      return texts.map((text) => message.test(text));
    };
    expect(await isReported()).toEqual(pages.map(() => false));
    const stoppedAt = performance.now();
    process.kill(server.pid, 'SIGSTOP');
    try {
      await eventually(async () => rig.health.report().components.temporal?.isHealthy === false);
      expect(performance.now() - stoppedAt).toBeLessThan(15_000);
      expect(await isReported()).toEqual(pages.map(() => true));
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await eventually(async () => rig.health.report().components.temporal?.isHealthy === true);
    await dashboard.close();
  });

  test('takes no task that it cannot decrypt, and names the missing key', async () => {
    await worker.close();
    const path = join(rig.dataDir, 'keys', 'payload.key');
    const keys = await readFile(path, 'utf8');
    await writeFile(path, `other:${Buffer.alloc(32, 7).toString('base64')}\n`);
    worker = await rig.startWorker();
    const temporal = () => rig.health.report().components.temporal;
    await eventually(async () => /was encrypted with the key/.test(temporal()?.detail ?? ''));
    expect(temporal()).toMatchObject({ isHealthy: false });
    await writeFile(path, keys);
    await worker.ready;
    expect(temporal()).toMatchObject({ isHealthy: true });
  });

  test('stops in time while Temporal is gone', async () => {
    await server.stop();
    const start = Date.now();
    await worker.close();
    expect(Date.now() - start).toBeLessThan(60_000);
  });
});
