import { expect, test } from 'vitest';
import { createSemaphore } from '../../lib/semaphore.ts';

test('a semaphore limits concurrent work, keeps its order, and survives failures', async () => {
  const semaphore = createSemaphore(2);
  let running = 0;
  let maxRunning = 0;
  const order: number[] = [];
  const run = (index: number) =>
    semaphore(async () => {
      running += 1;
      maxRunning = Math.max(maxRunning, running);
      order.push(index);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      if (index === 1) throw new Error('one fails');
    });
  const results = await Promise.allSettled([0, 1, 2, 3, 4, 5].map(run));
  expect(maxRunning).toBe(2);
  expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1);
  expect(await semaphore(async () => 'free')).toBe('free');
});

test('an abort ends the wait for a semaphore', async () => {
  const semaphore = createSemaphore(1);
  const release = Promise.withResolvers<void>();
  const running = semaphore(() => release.promise);
  const controller = new AbortController();
  const waiting = semaphore(async () => 'never', controller.signal);
  const next = semaphore(async () => 'next');
  controller.abort(new Error('aborted'));
  await expect(waiting).rejects.toThrow('aborted');
  release.resolve();
  await running;
  expect(await next).toBe('next');
});
