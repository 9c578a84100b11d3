import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type BackfillHandle,
  type BackfillOutcome,
  followBackfill,
  startBackfill,
} from '../../workflows/client/backfill-client.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { startWorkers } from '../support/temporal.ts';
import { PARTNER_ID } from './invoice-builders.ts';
import { aWorld } from './scripted-world.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const route = anInvoiceRoute({ overdueAfter: ['1 h'] });
const fixture = openWorkflowFixture(route);
const { scenes } = fixture;
const { worlds } = scenes;

function ids(count: number): string[] {
  return Array.from({ length: count }, () => randomUUID());
}

async function all(results: AsyncIterable<BackfillOutcome>): Promise<readonly BackfillOutcome[]> {
  const list: BackfillOutcome[] = [];
  for await (const result of results) list.push(result);
  return list;
}

/** Finalized, and its file comes when the gate opens. */
function heldUntil(gate: { readonly isOpen: boolean }) {
  return aWorld({
    lookUpInvoice: async () => ({ outcome: 'found', status: 'finalized', header: {} }),
    fetchToken: async () => {
      await eventually(() => gate.isOpen);
      return { secondsLeft: 60 };
    },
  });
}

async function isOver(backfill: BackfillHandle) {
  return eventually(async () => {
    const status = await backfill.status();
    return status.isOver ? status : null;
  });
}

describe('backfill', () => {
  test('reports the result of each id', async () => {
    const [finalized = '', voided = '', draft = '', unknown = '', poisoned = ''] = ids(5);
    worlds.set(
      voided,
      aWorld({ lookUpInvoice: async () => ({ outcome: 'found', status: 'voided', header: {} }) }),
    );
    worlds.set(draft, aWorld());
    worlds.set(
      unknown,
      aWorld({
        lookUpInvoice: async () => ({ outcome: 'not-found' }),
        regenerateUrl: async () => ({ outcome: 'not-exported' }),
      }),
    );
    worlds.set(
      poisoned,
      aWorld({
        lookUpInvoice: async () => ({ outcome: 'found', status: 'finalized', header: {} }),
        loadInvoice: async () => ({ outcome: 'rejected', reason: 'line 3' }),
      }),
    );
    const invoiceIds = [finalized, voided, draft, unknown, poisoned, finalized];
    const backfill = await startBackfill(fixture.client, route, { partnerId: PARTNER_ID, invoiceIds });
    const results = await all(backfill.results({ everyMs: 50 }));
    expect(Object.fromEntries(results.map(({ invoiceId, state }) => [invoiceId, state]))).toEqual({
      [finalized]: 'loaded',
      [voided]: 'voided',
      [draft]: 'draft',
      [unknown]: 'unknown',
      [poisoned]: 'needs_attention',
    });
    expect(results.find(({ invoiceId }) => invoiceId === poisoned)?.reason).toBe('line 3');
    expect(await backfill.status()).toMatchObject({ total: 5, done: 5, isOver: true });
  });

  test('limits the invoices in progress', async () => {
    let inProgress = 0;
    let most = 0;
    const slow = aWorld({
      lookUpInvoice: async () => {
        inProgress += 1;
        most = Math.max(most, inProgress);
        await new Promise((wake) => setTimeout(wake, 40));
        inProgress -= 1;
        return { outcome: 'found', status: 'finalized', header: {} };
      },
    });
    const invoiceIds = ids(24);
    for (const invoiceId of invoiceIds) worlds.set(invoiceId, slow);
    const backfill = await startBackfill(fixture.client, route, {
      partnerId: PARTNER_ID,
      invoiceIds,
      concurrency: 4,
    });
    expect((await all(backfill.results({ everyMs: 50 }))).length).toBe(24);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(4);
  });

  test('starts nothing while paused, continues when resumed', async () => {
    const gate = { isOpen: false };
    const held = heldUntil(gate);
    const invoiceIds = ids(6);
    for (const invoiceId of invoiceIds) worlds.set(invoiceId, held);
    const backfill = await startBackfill(fixture.client, route, {
      partnerId: PARTNER_ID,
      invoiceIds,
      concurrency: 2,
    });
    await eventually(async () => (await backfill.status()).inProgress === 2);
    await backfill.control('pause');
    gate.isOpen = true;
    await eventually(async () => (await backfill.status()).done === 2);
    await new Promise((wake) => setTimeout(wake, 300));
    expect(await backfill.status()).toMatchObject({ done: 2, inProgress: 0, control: 'pause' });
    await backfill.control('resume');
    expect((await all(backfill.results({ everyMs: 50 }))).map(({ state }) => state)).toEqual(
      Array(6).fill('loaded'),
    );
  });

  test('cancels the ids that were not started and reports them', async () => {
    const invoiceIds = ids(30);
    const slow = aWorld({
      lookUpInvoice: async () => {
        await new Promise((wake) => setTimeout(wake, 200));
        return { outcome: 'found', status: 'finalized', header: {} };
      },
    });
    for (const invoiceId of invoiceIds) worlds.set(invoiceId, slow);
    const backfill = await startBackfill(fixture.client, route, {
      partnerId: PARTNER_ID,
      invoiceIds,
      concurrency: 2,
    });
    await eventually(async () => (await backfill.status()).inProgress > 0);
    await backfill.control('cancel');
    const { counts } = await isOver(backfill);
    expect(counts.cancelled).toBeGreaterThan(0);
    expect(counts.cancelled + counts.loaded).toBe(30);
  });

  test('continues after the death of the worker', async () => {
    const own = anInvoiceRoute({ overdueAfter: ['1 h'] });
    const first = await startWorkers(fixture.temporal, own.queues, scenes);
    const invoiceIds = ids(12);
    const slow = aWorld({
      lookUpInvoice: async () => {
        await new Promise((wake) => setTimeout(wake, 100));
        return { outcome: 'found', status: 'finalized', header: {} };
      },
    });
    for (const invoiceId of invoiceIds) worlds.set(invoiceId, slow);
    const request = { partnerId: PARTNER_ID, invoiceIds, concurrency: 3 };
    const backfill = await startBackfill(fixture.client, own, request);
    await eventually(async () => (await backfill.status()).done >= 3);
    await first.stop();
    const second = await startWorkers(fixture.temporal, own.queues, scenes);
    const results = await all(followBackfill(fixture.client, own, backfill.backfillId).results());
    expect(results.map(({ state }) => state)).toEqual(Array(12).fill('loaded'));
    expect(new Set(results.map(({ invoiceId }) => invoiceId)).size).toBe(12);
    await second.stop();
  });

  test('accepts a request while it starts', async () => {
    const request = { partnerId: PARTNER_ID, invoiceIds: ids(3) };
    const backfill = await startBackfill(fixture.client, route, request);
    await backfill.control('cancel');
    expect(await isOver(backfill)).toMatchObject({ control: 'cancel', done: 3 });
  });

  test('counts a terminated batch as canceled and continues', async () => {
    const gate = { isOpen: false };
    const [stuck = '', next = ''] = ids(2);
    worlds.set(stuck, heldUntil(gate));
    const backfill = await startBackfill(fixture.client, route, {
      ...{ partnerId: PARTNER_ID, invoiceIds: [stuck, next], batchSize: 1, checkAfter: '300 ms' },
    });
    await eventually(async () => (await backfill.status()).inProgress === 1);
    await fixture.client.workflow.getHandle(`backfill/test/${backfill.backfillId}/1`).terminate();
    const status = await isOver(backfill);
    gate.isOpen = true;
    expect(status).toMatchObject({ total: 2, done: 2, counts: { cancelled: 1, loaded: 1 } });
  });
});
