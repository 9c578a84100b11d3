/** The state of the processes of `up` on the worker's admin port. */

import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import type { ToChild } from '../../cli/roles/child-messages.ts';
import type { UpProcess } from '../../cli/roles/child-process.ts';
import { watchProcesses } from '../../cli/roles/watch-processes.ts';
import { createMetrics } from '../../lib/metrics.ts';

afterEach(() => vi.useRealTimers());

test('reports a worker that restarts in a loop', async () => {
  vi.useFakeTimers();
  let isLooping = true;
  const told: ToChild[] = [];
  const running: UpProcess = {
    ...{ started: Promise.resolve(), polling: Promise.resolve(), addresses: () => ({}) },
    ...{ state: () => null, isLooping: () => false, tell: () => {}, kill: () => {}, close: async () => {} },
  };
  const alerts = { raise: () => {}, resolve: () => {}, close: async () => {} };
  const watch = watchProcesses({
    endpoint: running,
    worker: { ...running, isLooping: () => isLooping, tell: (message) => void told.push(message) },
    context: { log: pino({ level: 'silent' }), alerts, metrics: createMetrics('up') },
  });
  const isHealthy = (): boolean | undefined =>
    told
      .flatMap((message) =>
        message.kind === 'neighbour' ? [message.state.components['worker-process']] : [],
      )
      .findLast((component) => component !== undefined)?.isHealthy;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isHealthy()).toBe(false);
  isLooping = false;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isHealthy()).toBe(true);
  watch.close();
});
