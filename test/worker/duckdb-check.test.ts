import { tmpdir } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { heartbeatEvery } from '../../activities/heartbeat.ts';
import { createHealth, reportedCheck } from '../../lib/health/health.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { Database } from '../../warehouse/duckdb/database.ts';
import { machineChecks } from '../../worker/checks.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('ends heartbeats and the process after a hung statement, named by readiness', async () => {
  const database = await Database.open({
    ...{ path: ':memory:', folders: [], temporaryFolder: tmpdir(), memoryLimit: null },
  });
  const health = createHealth();
  const never = new AbortController().signal;
  const endProcess = vi.fn();
  const { alerts, open } = memoryAlerts();
  const options = { health, alerts, endProcess, dataDir: tmpdir(), metrics: createMetrics('worker') };
  const watch = machineChecks(options).find(({ component }) => component === 'duckdb');
  if (watch === undefined || !('readState' in watch)) throw new Error('There is no check of DuckDB.');
  const check = reportedCheck(watch, { health, alerts });
  const [heartbeat, statement] = [
    vi.fn(),
    'select sum(a.range * b.range) as n from range(30000) as a, range(30000) as b',
  ];
  const beat = heartbeatEvery(1_000, heartbeat);
  const running = database.use((session) => session.statement(statement));
  // Prepared by then, and being run.
  await setTimeout(300);
  for (let second = 0; second < 590; second += 1) await check.run(never);
  vi.advanceTimersByTime(1_000);
  expect({ beats: heartbeat.mock.calls.length, isReady: health.report().isReady }).toEqual({
    beats: 1,
    isReady: true,
  });
  for (let second = 0; second < 15; second += 1) await check.run(never);
  vi.advanceTimersByTime(10_000);
  beat.stop();
  expect(heartbeat).toHaveBeenCalledTimes(1);
  expect(health.report().components.duckdb?.detail).toContain('select sum(a.range * b.range)');
  expect([...open.keys()]).toEqual(['duckdb']);
  expect(health.report().isReady).toBe(false);
  expect(endProcess).toHaveBeenCalledTimes(1);
  await running;
  database.close();
});
