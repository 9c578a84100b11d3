import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openConnection } from '../../lib/temporal/connect.ts';
import type { EmbeddedTemporal } from '../../lib/temporal/embedded.ts';
import { invoiceWorkflowId } from '../../lib/wire/names.ts';
import type { RunningWorker } from '../../worker/start-worker.ts';
import { requestReconcile, requestSnapshot, requestVerify } from '../../workflows/client/writer-client.ts';
import { eventually } from '../support/eventually.ts';
import { createRandom } from '../support/random.ts';
import { settled } from './books.ts';
import { aRig, type Rig } from './rig.ts';

let rig: Rig;
let temporal: EmbeddedTemporal;
let worker: RunningWorker;
beforeAll(async () => {
  rig = await aRig();
  temporal = await rig.startTemporal();
  worker = await rig.startWorker();
  await worker.ready;
});
afterAll(() => rig.close());

describe('worker', () => {
  test('ignores a void in clear text, raises an alert, and continues', async () => {
    const { invoiceId } = await rig.service.createInvoice();
    const [created] = await rig.forward();
    if (created === undefined) throw new Error('The service announced nothing.');
    const connection = await openConnection({ address: temporal.address });
    const attacker = new Client({ connection });
    const { environment } = rig.settings;
    const workflowId = invoiceWorkflowId({ environment, partnerId: created.partnerId, invoiceId });
    const forged = { ...created, eventId: randomUUID(), eventType: 'invoice_voided' };
    await attacker.workflow.getHandle(workflowId).signal('invoiceEvent', forged);
    await attacker.workflow.getHandle(workflowId).signal('invoiceEvent');
    await connection.close();
    await eventually(async () => rig.logged().includes('alert raised: An unencrypted message'));
    expect(rig.logged()).toContain(workflowId);
    await rig.service.finalize(invoiceId);
    await rig.forward();
    await settled(rig, worker);
    expect((await worker.warehouse.invoice(invoiceId))?.state).toBe('loaded');
  });

  test('is not ready while publishing fails, and ready again afterwards', async () => {
    const published = join(rig.dataDir, 'reports.duckdb');
    await rm(published, { force: true });
    await mkdir(join(published, 'in the way'), { recursive: true });
    await rig.service.createInvoice();
    await rig.forward();
    const publication = () => rig.health.report().components.publication;
    await eventually(async () => publication()?.isHealthy === false);
    await eventually(() => rig.logged().includes('alert raised: Nothing new is published'));
    await rm(published, { recursive: true });
    await eventually(async () => publication()?.isHealthy === true);
    await eventually(() => rig.logged().includes('alert resolved: Nothing new is published'));
  });

  test('publishes, verifies and reconciles on request', async () => {
    const [known, lost] = [await rig.service.createInvoice(), await rig.service.createInvoice()];
    await rig.forward();
    await rig.service.finalize(known.invoiceId);
    await rig.forward();
    await eventually(async () => (await worker.warehouse.invoice(known.invoiceId))?.state === 'loaded');
    const run = rig.temporal.run.bind(rig.temporal);

    const publication = await run((client) => requestSnapshot(client, rig.route));
    expect(publication).toMatchObject({ path: join(rig.dataDir, 'reports.duckdb') });
    expect(await run((client) => requestVerify(client, rig.route, { full: true }))).toMatchObject({
      drift: [],
    });

    expect(await run((client) => requestReconcile(client, rig.route))).toMatchObject({
      ...{ gaps: [], forwarded: 0, waiting: 0, proved: { drift: 0 } },
    });

    // Its workflow is gone, as after a lost Temporal database; reconcile starts it again.
    const workflowId = `invoice/test/${rig.service.partnerId}/${lost.invoiceId}`;
    await run((client) => client.workflow.getHandle(workflowId).terminate());
    await rig.service.finalize(lost.invoiceId);
    await eventually(async () => (await run((client) => requestReconcile(client, rig.route))).watched === 1);
    await settled(rig, worker);
  });

  test("reports the progress of a command's request", async () => {
    const progress: string[] = [];
    const { warehouse } = worker;
    const verify = warehouse.verify.bind(warehouse);
    // As slow as a proof of many files, until its progress was received.
    warehouse.verify = async (options) => {
      options?.onProgress?.(2, 5);
      await eventually(async () => progress.length > 0);
      return verify(options);
    };
    try {
      const onProgress = (done: number, of: number) => void progress.push(`${done} of ${of}`);
      const run = rig.temporal.run.bind(rig.temporal);
      await run((client) => requestVerify(client, rig.route, { full: true }, onProgress));
      expect(progress[0]).toBe('2 of 5');
    } finally {
      warehouse.verify = verify;
    }
  });

  // The short form of `npm run chaos -- events-in-any-order` and `dropped-events`.
  test('matches the books although events are repeated, shuffled, concurrent or missing', async () => {
    const random = createRandom(1).next;
    const voided: string[] = [];
    const neverSent = new Set<string>();
    await rig.forward();
    const before = rig.service.events.length;
    for (let i = 0; i < 10; i += 1) {
      const { invoiceId } = await rig.service.createInvoice({ rows: 2 + i });
      await rig.service.finalize(invoiceId);
      const finalized = rig.service.events.at(-1) ?? '';
      if (i % 3 === 0) {
        await rig.service.void(invoiceId);
        voided.push(invoiceId);
      } else if (i % 3 === 1) neverSent.add(finalized);
    }
    const deliveries = rig.service.events
      .slice(before)
      .filter((text) => !neverSent.has(text))
      .flatMap((text) => Array<string>(1 + Math.floor(random() * 5)).fill(text))
      .map((text) => ({ text, at: random() }))
      .sort((a, b) => a.at - b.at);
    const atOnce = deliveries.splice(0, Math.round(deliveries.length * 0.3));
    await Promise.all(atOnce.map(({ text }) => rig.give(text)));
    for (const { text } of deliveries) await rig.give(text);
    await settled(rig, worker);
    const found = await worker.warehouse.invoices({ states: ['voided'] });
    expect(found.map(({ invoiceId }) => invoiceId).sort()).toEqual(voided.sort());
    expect(rig.service.complaints).toEqual([]);
  });
});
