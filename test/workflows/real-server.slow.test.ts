/** What only a real server shows; the rules are in the simulated tests. */

import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { expect, test } from 'vitest';
import { followBackfill, startBackfill } from '../../workflows/client/backfill-client.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { startWorkers } from '../support/temporal.ts';
import { anEvent, PARTNER_ID } from './invoice-builders.ts';
import { aWorld } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

const fixture = openWorkflowFixture(anInvoiceRoute());
const { scenes } = fixture;
const { play } = scenes;

test('the events of an invoice cost two tasks, one activity, one marker and one update when the download also loads', async () => {
  const world = aWorld({
    downloadCsv: async ({ location: { fileHashSha256: sha256, fileSizeBytes: sizeBytes } }) => ({
      ...{ outcome: 'fetched', sha256, sizeBytes, announcedSha256: sha256 },
      loaded: { outcome: 'loaded', shipments: 2 },
    }),
  });
  let history: History = {};
  await play(
    world,
    async (underTest) => {
      await underTest.send(anEvent('invoice_created'));
      await underTest.until('draft');
      await underTest.send(anEvent('invoice_finalized'));
      expect(await underTest.result()).toMatchObject({ state: 'loaded' });
      history = await underTest.handle().fetchHistory();
    },
    { overdueAfter: ['1 h'] },
  );
  const events = history.events ?? [];
  expect({
    tasks: events.filter((event) => event.workflowTaskCompletedEventAttributes).length,
    timers: events.filter((event) => event.timerStartedEventAttributes).length,
    activities: events.filter((event) => event.activityTaskScheduledEventAttributes).length,
    markers: events.filter((event) => event.markerRecordedEventAttributes).length,
    upserts: events.filter((event) => event.upsertWorkflowSearchAttributesEventAttributes).length,
  }).toEqual({ tasks: 2, timers: 0, activities: 1, markers: 1, upserts: 1 });
  expect(world.calls).toEqual(['recordEvent', 'downloadCsv']);
});

test('a backfill continues after the death of the worker', async () => {
  const own = anInvoiceRoute({ overdueAfter: ['1 h'] });
  const first = await startWorkers(fixture.temporal, own.queues, scenes);
  const invoiceIds = Array.from({ length: 12 }, () => randomUUID());
  const slow = aWorld({
    lookUpInvoice: async () => {
      await new Promise((wake) => setTimeout(wake, 100));
      return { outcome: 'found', status: 'finalized', header: {} };
    },
  });
  for (const invoiceId of invoiceIds) scenes.worlds.set(invoiceId, slow);
  const request = { partnerId: PARTNER_ID, invoiceIds, concurrency: 3 };
  const backfill = await startBackfill(fixture.client, own, request);
  await eventually(async () => (await backfill.status()).done >= 3);
  await first.stop();
  const second = await startWorkers(fixture.temporal, own.queues, scenes);
  const results = await Array.fromAsync(followBackfill(fixture.client, own, backfill.backfillId).results());
  expect(results.map(({ state }) => state)).toEqual(Array(12).fill('loaded'));
  expect(new Set(results.map(({ invoiceId }) => invoiceId)).size).toBe(12);
  await second.stop();
});
