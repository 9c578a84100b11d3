import { setImmediate } from 'node:timers/promises';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Client } from '@temporalio/client';
import { ActivityCancellationDetails } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { createRetryAlert } from '../../worker/retry-alert.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

test('raises an alert that names the invoice of a repeatedly failing step', async () => {
  const { alerts, open } = memoryAlerts();
  const began = Date.now();
  let nowMs = began;
  const retries = createRetryAlert({ alerts, now: () => nowMs });
  const attempt = (
    invoice: string,
    number: number,
    work: () => Promise<unknown>,
    activityType = 'downloadCsv',
  ) =>
    new MockActivityEnvironment({
      ...{ activityType, attempt: number, scheduledTimestampMs: began },
      workflowExecution: { workflowId: `invoice/test/p/${invoice}`, runId: 'r' },
    })
      .run(async () => {
        const { inbound } = retries.interceptor(Context.current());
        return inbound?.execute?.({ args: [], headers: {} }, work);
      })
      .catch((error: unknown) => error);
  const fails = async (): Promise<never> => {
    throw ApplicationFailure.retryable('The answer is a page.\nwith more', 'not-csv');
  };
  const givesUp = async (): Promise<never> => {
    throw ApplicationFailure.nonRetryable('Forbidden.', 'forbidden');
  };
  await attempt('one', 1, fails);
  await attempt('one', 2, fails);
  expect([...open.keys()]).toEqual([]);
  await attempt('one', 3, fails);
  expect(open.get('retries')?.detail).toContain('one (downloadCsv: The answer is a page.)');
  nowMs += 25_000;
  await attempt('two', 1, fails);
  expect(open.get('retries')?.detail).toContain('; two (downloadCsv');
  await attempt('one', 4, async () => 'done');
  expect(open.get('retries')?.detail).not.toContain('one (');
  await attempt('two', 2, givesUp);
  expect([...open.keys()]).toEqual(['retries']);
  await attempt('two', 1, async () => 'recorded', 'markNeedsAttention');
  expect([...open.keys()]).toEqual([]);
  nowMs += 60_000;
  await attempt('four', 1, givesUp, 'exportCsv');
  nowMs += 25_000;
  await attempt('four', 1, givesUp, 'exportCsv');
  expect(open.get('retries')?.detail).toContain('four (exportCsv: Forbidden.)');
  await attempt('four', 1, async () => ({ outcome: 'fetched' }));
  expect([...open.keys()]).toEqual([]);
  await attempt('three', 3, fails, 'lookUpInvoice');
  await attempt('three', 4, givesUp, 'lookUpInvoice');
  expect([...open.keys()]).toEqual([]);

  // An attempt that exceeds its limit is repeated, and so are all others that take as long.
  const slow = new MockActivityEnvironment({
    ...{ activityType: 'recordEvent', scheduledTimestampMs: began, startToCloseTimeoutMs: 60_000 },
    workflowExecution: { workflowId: 'invoice/test/p/six', runId: 'r' },
  });
  await slow.run(async () => {
    const { inbound } = retries.interceptor(Context.current());
    return inbound?.execute?.({ args: [], headers: {} }, async () => {
      slow.cancel('TIMED_OUT', new ActivityCancellationDetails({ timedOut: true }));
      await setImmediate();
    });
  });
  expect(open.get('retries')?.detail).toContain('six (recordEvent: it takes longer than its limit of 60 s)');
  await attempt('six', 2, async () => 'recorded', 'recordEvent');
  expect([...open.keys()]).toEqual([]);

  // Another worker goes on with the step; only Temporal knows how it ends.
  let [status, pending] = ['RUNNING', ['loadInvoice']];
  const describe = async () => ({
    status: { name: status },
    raw: { pendingActivities: pending.map((name) => ({ activityType: { name } })) },
  });
  retries.connect({ workflow: { getHandle: () => ({ describe }) } } as unknown as Client);
  const ends = [
    { activity: 'loadInvoice', after: ['RUNNING', []] },
    { activity: 'downloadCsv', after: ['RUNNING', ['loadInvoice']] },
    { activity: 'downloadCsv', after: ['COMPLETED', []] },
  ] as const;
  for (const { activity, after } of ends) {
    await attempt('five', 3, fails, activity);
    [status, pending] = ['RUNNING', activity === 'loadInvoice' ? [activity] : []];
    nowMs += 25_000;
    await retries.check.run(new AbortController().signal);
    expect(open.get('retries')?.detail).toContain(`five (${activity}`);
    [status, pending] = [after[0], [...after[1]]];
    await retries.check.run(new AbortController().signal);
    expect([...open.keys()]).toEqual([]);
  }
});
