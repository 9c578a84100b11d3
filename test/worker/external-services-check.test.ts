import { expect, test } from 'vitest';
import { createHealth } from '../../lib/health/health.ts';
import { externalServicesCheck } from '../../worker/process-checks.ts';

test('Temporal or the service being unwell is an alert after a while, not before, until it is well again', () => {
  let nowMs = Date.UTC(2026, 2, 1);
  const now = () => new Date(nowMs);
  const health = createHealth(now);
  const said: string[] = [];
  const open = new Set<string>();
  const alerts = {
    raise({ key, detail = '' }: { key: string; detail?: string }) {
      if (!open.has(key)) said.push(`${key}: ${detail}`);
      open.add(key);
    },
    resolve: (key: string) => void open.delete(key),
    close: async () => {},
  };
  health.set('temporal', { isHealthy: false, detail: '127.0.0.1:7233 does not answer' });
  health.set('billing service', { isHealthy: true });
  const { run } = externalServicesCheck({ health, alerts, now });
  const check = (): unknown => run(new AbortController().signal);
  nowMs += 14_000;
  health.set('billing service', { isHealthy: false, detail: 'last error: 503' });
  check();
  expect(said).toEqual([]);
  nowMs += 2_000;
  check();
  expect(said).toEqual([
    expect.stringMatching(/^temporal\/away: 127.0.0.1:7233 does not answer\. Deliveries/),
  ]);
  nowMs += 14_000;
  check();
  expect(said[1]).toMatch(/^service\/unwell: last error: 503\. /);
  health.set('temporal', { isHealthy: true });
  health.set('billing service', { isHealthy: true });
  check();
  expect(open.size).toBe(0);
});
