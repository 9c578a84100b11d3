/** A reconciliation of which one part fails: the others are done all the same, and whoever asked is told. */

import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { askReconcile } from '../../temporal/writer-client.js';
import {
  connectForTests,
  type RunningWorkers,
  startWorkers,
  type TemporalForTests,
} from '../support/temporal/temporal.js';

const queues = {
  billing: `reconcile-${randomUUID()}-billing`,
  warehouse: `reconcile-${randomUUID()}-warehouse`,
};
const route = { environment: 'test', queues } as const;
const done: string[] = [];
let broken: string | null = null;
let temporal: TemporalForTests;
let workers: RunningWorkers;

const part =
  <T>(name: string, answer: T) =>
  async (): Promise<T> => {
    if (broken === name) throw ApplicationFailure.nonRetryable(`${name} is broken`, 'is-broken');
    done.push(name);
    return answer;
  };
const PARTS = {
  forwardInbox: part('forwardInbox', { forwarded: 1, waiting: 2 }),
  ingestArchive: part('ingestArchive', { events: 3 }),
  findOverdue: part('findOverdue', { unwatched: [], toRecheck: [], toRetry: [], needAttention: 4 }),
  lookAfterInvoices: part('lookAfterInvoices', undefined),
  findGaps: part('findGaps', { gaps: 1, findings: ['a gap'] }),
  checkQuarantine: part('checkQuarantine', { held: 5, olderThanADay: 0 }),
  verifyWarehouse: part('verifyWarehouse', {
    ...{ invoices: 6, shipments: 7, filesRead: 6, discrepancies: 0 },
    ...{ drift: [{ invoiceId: 'a' }], driftInAll: 300 },
  }),
};

beforeAll(async () => {
  temporal = await connectForTests();
  workers = await startWorkers(temporal, queues, { billing: {}, warehouse: PARTS });
}, 120_000);
afterAll(async () => {
  await workers.stop();
  await temporal.close();
});

test('answers what each part did, of a drift its whole number', async () => {
  expect(await askReconcile(temporal.client, route)).toMatchObject({
    ...{ forwarded: 1, waiting: 2, ingested: 3, needAttention: 4, quarantined: 5, gaps: ['a gap'] },
    proved: { invoices: 6, shipments: 7, drift: 300 },
  });
});

test.each(Object.keys(PARTS))('does all others when %s fails, and then says so', async (name) => {
  done.length = 0;
  broken = name;
  await expect(askReconcile(temporal.client, route)).rejects.toMatchObject({
    code: 'is-broken',
    message: expect.stringContaining(`${name} is broken`),
  });
  expect(new Set(done)).toEqual(new Set(Object.keys(PARTS).filter((each) => each !== name)));
});
