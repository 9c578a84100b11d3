import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type BackfillHandle,
  type BackfillRequest,
  followBackfill,
  startBackfill,
} from '../../workflows/client/backfill-client.ts';
import type { BackfillBatchResult, BackfillResult } from '../../workflows/messages.ts';
import { eventually } from '../support/eventually.ts';
import { anInvoiceRoute } from '../support/quick-route.ts';
import { PARTNER_ID } from './invoice-builders.ts';
import { openWorkflowFixture } from './workflow-fixture.ts';

const route = anInvoiceRoute({ overdueAfter: ['1 h'] });
const fixture = openWorkflowFixture(route);

const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());
const workflowOf = ({ backfillId }: BackfillHandle, batch?: number) =>
  fixture.client.workflow.getHandle(`backfill/test/${backfillId}${batch === undefined ? '' : `/${batch}`}`);

async function startHalf(request: Omit<BackfillRequest, 'partnerId' | 'invoiceIds'>) {
  let started = '';
  await expect(
    startBackfill(fixture.client, route, {
      ...{ partnerId: PARTNER_ID, invoiceIds: ids(4), batchSize: 2, ...request },
      onSent: (_, backfillId) => {
        started = backfillId;
        throw new Error('killed');
      },
    }),
  ).rejects.toThrow('killed');
  return followBackfill(fixture.client, route, started);
}

describe.concurrent('a backfill whose client is gone', () => {
  test('finishes its ids, then ends as incomplete', async () => {
    const backfill = await startHalf({ quietAfter: '1 s' });
    const result = (await workflowOf(backfill).result()) as BackfillResult;
    expect(result).toMatchObject({ loaded: 2, cancelled: 0, isComplete: false });
    expect(await backfill.status()).toMatchObject({ total: 2, done: 2, isOver: true, isComplete: false });
    const states: string[] = [];
    for await (const { state } of backfill.results({ everyMs: 20 })) states.push(state);
    expect(states).toEqual(['loaded', 'loaded']);
  });

  test('ends at once when it is canceled', async () => {
    const backfill = await startHalf({});
    await eventually(async () => (await backfill.status()).done === 2);
    await backfill.control('cancel');
    const result = (await workflowOf(backfill).result()) as BackfillResult;
    expect(result).toMatchObject({ loaded: 2, isComplete: false });
  });
});

describe.concurrent('a backfill that is cancelled', () => {
  test('ends all of its batches', async () => {
    const backfill = await startBackfill(fixture.client, route, {
      ...{ partnerId: PARTNER_ID, invoiceIds: ids(8), batchSize: 1 },
    });
    await backfill.control('pause');
    await backfill.control('cancel');
    const { cancelled, isComplete } = (await workflowOf(backfill).result()) as BackfillResult;
    expect(cancelled).toBeGreaterThan(0);
    expect(isComplete).toBe(true);
    expect(await backfill.status()).toMatchObject({ total: 8, done: 8, isOver: true });
  });

  test('accepts no further ids', async () => {
    let isCancelled = false;
    const sent: number[] = [];
    const request: BackfillRequest = {
      ...{ partnerId: PARTNER_ID, invoiceIds: ids(40), batchSize: 1, checkAfter: '500 ms' },
      onSent(count: number, backfillId: string) {
        sent.push(count);
        if (!isCancelled) void followBackfill(fixture.client, route, backfillId).control('cancel');
        isCancelled = true;
      },
    };
    const backfill = await startBackfill(fixture.client, route, request);
    const status = await eventually(async () => {
      const found = await backfill.status();
      return found.isOver ? found : null;
    });
    expect(status).toMatchObject({ control: 'cancel', isComplete: false });
    expect(status.total).toBeLessThan(40);
    // Batches that were started after the cancellation end as well.
    for (let batch = 1; batch <= sent.length; batch += 1) {
      await eventually(async () => {
        const { status } = await workflowOf(backfill, batch).describe();
        return status.name === 'COMPLETED';
      });
    }
  });
});

describe.concurrent('a batch whose backfill was terminated', () => {
  test('ends when it was not started', async () => {
    const backfill = await startBackfill(fixture.client, route, {
      ...{ partnerId: PARTNER_ID, invoiceIds: ids(3), batchSize: 1, checkAfter: '500 ms' },
    });
    await backfill.control('pause');
    const waiting = await workflowOf(backfill, 3).query('backfillBatchProgress');
    await workflowOf(backfill).terminate();
    expect(waiting).toMatchObject({ waiting: 1, control: 'pause' });
    const { counts } = (await workflowOf(backfill, 3).result()) as BackfillBatchResult;
    expect(counts).toMatchObject({ cancelled: 1, loaded: 0 });
  });
});
