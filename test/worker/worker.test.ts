/** The worker with real parts: from an event to rows that equal what was billed, through every absence of Temporal. */

import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { Decimal } from 'decimal.js';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { invoiceWorkflowId } from '../../contract/names.js';
import { openConnection } from '../../temporal/connect.js';
import {
  applySchedule,
  pauseSchedule,
  resumeSchedule,
  showSchedule,
  triggerSchedule,
} from '../../temporal/schedule.js';
import { askImport, askReconcile, askSnapshot, askVerify } from '../../temporal/writer-client.js';
import type { RunningWorker } from '../../worker/start-worker.js';
import { eventually } from '../support/eventually.js';
import { aRig, type Rig } from './rig.js';

let rig: Rig;
beforeEach(async () => {
  rig = await aRig();
});
afterEach(() => rig.close());

/** What the service billed, by its own rows: invoice to exact sum. */
function billed(): Record<string, string> {
  const sums = new Map<string, Decimal>();
  for (const { invoiceId, billingCost } of rig.service.billedRows()) {
    sums.set(invoiceId, (sums.get(invoiceId) ?? new Decimal(0)).plus(billingCost));
  }
  return Object.fromEntries([...sums].map(([id, sum]) => [id, sum.toFixed(4)]).sort());
}

async function loaded({ warehouse }: RunningWorker): Promise<Record<string, string>> {
  const invoices = await warehouse.invoices({ states: ['loaded'] });
  const sums = invoices.map(({ invoiceId, billingCost }) => [
    invoiceId,
    new Decimal(billingCost ?? 0).toFixed(4),
  ]);
  return Object.fromEntries(sums.sort());
}

async function settled(worker: RunningWorker): Promise<void> {
  const wanted = JSON.stringify(billed());
  await eventually(async () => JSON.stringify(await loaded(worker)) === wanted, { every: 100 });
}

describe('worker', () => {
  test('takes no task while it cannot read what the others encrypted, and says which key it lacks', async () => {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    await worker.ready;
    await worker.close();
    const path = join(rig.dataDir, 'keys', 'payload.key');
    const keys = await readFile(path, 'utf8');
    await writeFile(path, `other:${Buffer.alloc(32, 7).toString('base64')}\n`);
    const stranger = await rig.startWorker();
    const temporal = () => rig.health.report().components.temporal;
    await eventually(async () => /was encrypted with the key/.test(temporal()?.detail ?? ''));
    expect(temporal()).toMatchObject({ isHealthy: false });
    await writeFile(path, keys);
    await stranger.ready;
    expect(temporal()).toMatchObject({ isHealthy: true });
  });

  test('starts without Temporal, waits for it, and then loads exactly what was billed', async () => {
    const worker = await rig.startWorker();
    expect(rig.health.report().components.temporal?.isHealthy).toBe(false);
    await rig.startTemporal();
    await worker.ready;
    const [first, second] = [
      await rig.service.createInvoice(),
      await rig.service.createInvoice({ tenant: null }),
    ];
    await rig.service.finalize(first.invoiceId);
    await rig.service.finalize(second.invoiceId);
    await rig.forward();
    await settled(worker);
    await rig.service.void(first.invoiceId);
    await rig.forward();
    await settled(worker);
    expect((await worker.warehouse.invoice(first.invoiceId))?.state).toBe('voided');
    expect(rig.service.complaints).toEqual([]);
    expect(rig.health.report().components.temporal?.isHealthy).toBe(true);
  });

  test('obeys no void in clear text, says so by an alert, and goes on with what is honest', async () => {
    const server = await rig.startTemporal();
    const worker = await rig.startWorker();
    await worker.ready;
    const { invoiceId } = await rig.service.createInvoice();
    const [created] = await rig.forward();
    if (created === undefined) throw new Error('The service announced nothing.');
    const connection = await openConnection({ address: server.address });
    const stranger = new Client({ connection });
    const { environment } = rig.settings;
    const workflowId = invoiceWorkflowId({ environment, partnerId: created.partnerId, invoiceId });
    const forged = { ...created, eventId: randomUUID(), eventType: 'invoice_voided' };
    await stranger.workflow.getHandle(workflowId).signal('invoiceEvent', forged);
    await stranger.workflow.getHandle(workflowId).signal('invoiceEvent');
    await connection.close();
    await eventually(async () => rig.logged().includes('alert raised: Something in clear text'));
    expect(rig.logged()).toContain(workflowId);
    await rig.service.finalize(invoiceId);
    await rig.forward();
    await settled(worker);
    expect(Object.keys(await loaded(worker))).toEqual([invoiceId]);
    expect((await worker.warehouse.invoice(invoiceId))?.state).toBe('loaded');
  });

  test('is not ready and says so while nothing can be published, and is ready again once it can', async () => {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    await worker.ready;
    const published = join(rig.dataDir, 'reports.duckdb');
    await rm(published, { force: true });
    await mkdir(join(published, 'in the way'), { recursive: true });
    await rig.service.createInvoice();
    await rig.forward();
    const publication = () => rig.health.report().components.publication;
    await eventually(async () => publication()?.isHealthy === false, { every: 100 });
    expect(rig.logged()).toContain('alert raised: Nothing new is published');
    await rm(published, { recursive: true });
    await eventually(async () => publication()?.isHealthy === true, { every: 100 });
    expect(rig.logged()).toContain('alert resolved: Nothing new is published');
  });

  test('finds a finalized event that was never delivered', async () => {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    const invoice = await rig.service.createInvoice();
    await rig.forward();
    await rig.service.finalize(invoice.invoiceId);
    await settled(worker);
  });

  test('goes on after Temporal was killed', async () => {
    const server = await rig.startTemporal();
    const worker = await rig.startWorker();
    await worker.ready;
    const invoices = await Promise.all(Array.from({ length: 4 }, () => rig.service.createInvoice()));
    await rig.forward();
    process.kill(server.pid, 'SIGKILL');
    for (const { invoiceId } of invoices) await rig.service.finalize(invoiceId);
    await eventually(() =>
      rig.forward().then(
        () => true,
        () => false,
      ),
    );
    await settled(worker);
  });

  test('ends in time although Temporal is gone', async () => {
    const server = await rig.startTemporal();
    const worker = await rig.startWorker();
    await worker.ready;
    await server.stop();
    const start = Date.now();
    await worker.close();
    expect(Date.now() - start).toBeLessThan(60_000);
  });

  test('leaves no secret in history, archive, log or reports', async () => {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    const invoice = await rig.service.createInvoice();
    await rig.service.finalize(invoice.invoiceId);
    const events = await rig.forward();
    await settled(worker);
    await rig.temporal.run((client) => askSnapshot(client, rig.route));
    const query = events
      .map(({ export: location }) => new URL(location?.presignedUrl ?? 'https://x').search)
      .find(Boolean);
    const secrets = [rig.service.clientSecret, query?.slice(1)].filter((secret) => secret !== undefined);
    expect(secrets).toHaveLength(2);
    for (const name of await readdir(rig.dataDir, { recursive: true })) {
      const bytes = await readFile(join(rig.dataDir, name)).catch(() => Buffer.alloc(0));
      for (const secret of secrets) expect([name, bytes.includes(secret)]).toEqual([name, false]);
    }
    for (const secret of secrets) expect(rig.logged()).not.toContain(secret);
  });

  test('publishes, proves and reconciles when asked', async () => {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    const [known, unheard] = [await rig.service.createInvoice(), await rig.service.createInvoice()];
    await rig.forward();
    await rig.service.finalize(known.invoiceId);
    await rig.forward();
    await eventually(async () => (await worker.warehouse.invoice(known.invoiceId))?.state === 'loaded');
    const ask = rig.temporal.run.bind(rig.temporal);

    const publication = await ask((client) => askSnapshot(client, rig.route));
    expect(publication).toMatchObject({ path: join(rig.dataDir, 'reports.duckdb') });
    expect(await ask((client) => askVerify(client, rig.route, { full: true }))).toMatchObject({ drift: [] });

    expect(await ask((client) => askReconcile(client, rig.route))).toMatchObject({
      ...{ gaps: [], forwarded: 0, waiting: 0, proved: { drift: 0 } },
    });

    // Its workflow is gone, as after a lost Temporal database; reconcile looks after it again.
    const workflowId = `invoice/test/${rig.service.partnerId}/${unheard.invoiceId}`;
    await ask((client) => client.workflow.getHandle(workflowId).terminate());
    await rig.service.finalize(unheard.invoiceId);
    await eventually(async () => (await ask((client) => askReconcile(client, rig.route))).watched === 1);
    await settled(worker);
  });

  test('has a schedule that can be shown, paused, resumed and triggered', async () => {
    await rig.startTemporal();
    const worker = await rig.startWorker();
    await worker.ready;
    const ask = rig.temporal.run.bind(rig.temporal);
    const shown = () => ask((client) => showSchedule(client, rig.settings));
    expect(await shown()).toMatchObject({ every: '3600 s', isPaused: false });
    await ask((client) => pauseSchedule(client, rig.settings, 'month end'));
    await ask((client) => applySchedule(client, rig.settings));
    expect(await shown()).toMatchObject({ isPaused: true, note: 'month end' });
    await ask((client) => resumeSchedule(client, rig.settings));
    expect((await shown())?.nextRuns.length).toBeGreaterThan(0);
    await ask((client) => triggerSchedule(client, rig.settings));
    await eventually(async () => ((await shown())?.lastRuns.length ?? 0) > 0);
  });

  test('imports a file when asked, proved by what the service says of it', async () => {
    await rig.startTemporal();
    await rig.startWorker();
    const { invoiceId } = await rig.service.createInvoice({ rows: 3 });
    await rig.service.finalize(invoiceId);
    const { presignedUrl } = rig.service.exportOf(invoiceId);
    const answer = await request(presignedUrl, {
      dispatcher: new Agent({ connect: { ca: rig.service.caPem } }),
    });
    const path = join(rig.dataDir, 'by-hand.csv');
    await writeFile(path, Buffer.from(await answer.body.arrayBuffer()));
    const imported = await rig.temporal.run((client) =>
      askImport(client, rig.route, { path, invoiceId: null }),
    );
    expect(imported).toMatchObject({ invoiceId, records: 3, outcome: { outcome: 'loaded', shipments: 3 } });
  });
});
