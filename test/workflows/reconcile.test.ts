import { randomUUID } from 'node:crypto';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { scheduledRunsCheck } from '../../worker/schedule-checks.ts';
import {
  applySchedule,
  pauseSchedule,
  resumeSchedule,
  scheduleId,
  triggerSchedule,
} from '../../workflows/client/schedules.ts';
import { requestReconcile } from '../../workflows/client/writer-client.ts';
import { eventually } from '../support/eventually.ts';
import {
  connectForTests,
  type RunningWorkers,
  startWorkers,
  type TemporalForTests,
} from '../support/temporal.ts';

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
  confirmAnnounced: part('confirmAnnounced', undefined),
  findOverdue: part('findOverdue', {
    unwatched: [],
    toRecheck: [],
    toRetry: [],
    needAttention: 4,
    quarantined: 5,
  }),
  reconcileInvoices: part('reconcileInvoices', undefined),
  findGaps: part('findGaps', { gaps: 1, findings: ['a gap'], reported: 'a digest' }),
  verifyWarehouse: part('verifyWarehouse', {
    ...{ invoices: 6, shipments: 7, filesRead: 6, discrepancies: 0 },
    ...{ drift: [{ invoiceId: 'a' }], driftInAll: 300 },
  }),
};

beforeAll(async () => {
  temporal = await connectForTests();
  workers = await startWorkers(temporal, queues, { billing: {}, warehouse: PARTS });
});
beforeEach(() => {
  broken = null;
});
afterAll(async () => {
  await workers.stop();
  await temporal.close();
});

test('returns the result of each part, of a drift its full count', async () => {
  expect(await requestReconcile(temporal.client, route)).toMatchObject({
    ...{ forwarded: 1, waiting: 2, ingested: 3, needAttention: 4, quarantined: 5, gaps: ['a gap'] },
    reportedGaps: 'a digest',
    proved: { invoices: 6, shipments: 7, drift: 300 },
  });
});

test.each(Object.keys(PARTS))('runs all other parts when %s fails, then reports it', async (name) => {
  done.length = 0;
  broken = name;
  await expect(requestReconcile(temporal.client, route)).rejects.toMatchObject({
    code: 'is-broken',
    message: expect.stringContaining(`${name} is broken`),
  });
  expect(new Set(done)).toEqual(new Set(Object.keys(PARTS).filter((each) => each !== name)));
});

describe('the schedule', () => {
  const HOUR_MS = 3_600_000;
  const settings = { environment: `schedule-${randomUUID()}` as 'test', reconcileEvery: '1h' };
  const since = new Date();
  const check = scheduledRunsCheck(settings, since);
  const stateAfter = (ms = 0) => check(temporal.client, new Date(since.getTime() + ms));
  const untilState = (isHealthy: boolean) =>
    eventually(async () => (await stateAfter()).isHealthy === isHealthy);
  afterAll(() => temporal.client.schedule.getHandle(scheduleId(settings.environment)).delete());

  test('reports a missing, a failed, a later successful and a missed run, unless a person paused it', async () => {
    expect(await stateAfter()).toMatchObject({
      isHealthy: false,
      detail: expect.stringContaining('no schedule'),
    });
    await applySchedule(temporal.client, settings, queues);
    expect(await stateAfter()).toEqual({ isHealthy: true, detail: '' });
    broken = 'verifyWarehouse';
    await triggerSchedule(temporal.client, settings);
    await untilState(false);
    expect((await stateAfter()).detail).toMatch(/^reconciliation: its run of 20.*Z failed$/);
    broken = null;
    await triggerSchedule(temporal.client, settings);
    await untilState(true);
    expect(await stateAfter(HOUR_MS)).toMatchObject({ isHealthy: true });
    const late = await stateAfter(2 * HOUR_MS);
    expect(late.isHealthy).toBe(false);
    expect(late.detail).toMatch(/^reconciliation: it last ran at 20.*Z, and should have run since$/);
    await pauseSchedule(temporal.client, settings, 'month end');
    expect(await stateAfter(2 * HOUR_MS)).toMatchObject({ isHealthy: true });
    await resumeSchedule(temporal.client, settings);
    // It is due an hour after it was resumed.
    expect(await stateAfter(2 * HOUR_MS + 1_000)).toMatchObject({ isHealthy: true });
    expect(await stateAfter(4 * HOUR_MS)).toMatchObject({ isHealthy: false });
  });
});
