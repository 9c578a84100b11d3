import { expect, test } from 'vitest';
import type { BillingService } from '../../billing/billing-service.ts';
import { BillingError, unreachable } from '../../billing/errors.ts';
import { createHealth } from '../../lib/health/health.ts';
import { tokenCheck, withServiceHealth } from '../../worker/service-check.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

function aService() {
  let at = Date.parse('2026-03-01T08:00:00Z');
  const now = () => new Date(at);
  const health = createHealth(now);
  let answer: () => Promise<unknown> = async () => ({});
  let isRefused = false;
  const fetchToken = async () => {
    if (isRefused) throw new BillingError('credentials-refused', ['the client secret', 'HTTP 401']);
    return { secondsLeft: 600 };
  };
  const calls = { fetchToken, regenerateUrl: () => answer() };
  const service = withServiceHealth(calls as unknown as BillingService, { health, now });
  const component = () => health.report().components['billing service'];
  return {
    ...{ service, health, component },
    refuse(isSo: boolean) {
      isRefused = isSo;
    },
    ...memoryAlerts(),
    pass: (minutes: number) => {
      at += minutes * 60_000;
    },
    willFail(error: Error) {
      answer = async () => Promise.reject(error);
    },
    willAnswer() {
      answer = async () => ({});
    },
  };
}

test('reports a failure without being unready, and recovers with the next answer', async () => {
  const { service, component, health, pass, willFail, willAnswer } = aService();
  await service.regenerateUrl('x');
  pass(5);
  willFail(unreachable('api.example', 'ECONNREFUSED', null));
  await expect(service.regenerateUrl('x')).rejects.toThrow();
  pass(5);
  willFail(new BillingError('credentials-refused', ['the API key', 'HTTP 401']));
  await expect(service.regenerateUrl('x')).rejects.toThrow();
  expect(component()).toMatchObject({ isHealthy: false, since: '2026-03-01T08:05:00.000Z' });
  expect(component()?.detail).toMatch(
    /^last error 2026-03-01 08:10 UTC: The billing service refused the API key.*; last good answer 2026-03-01 08:00 UTC/,
  );
  expect(health.report()).toMatchObject({ isReady: true, isWell: false });
  // An answer about one invoice is an answer.
  willFail(new BillingError('not-exported', ['x']));
  await expect(service.regenerateUrl('x')).rejects.toThrow();
  expect(component()).toMatchObject({ isHealthy: true });
  willAnswer();
  await service.regenerateUrl('x');
  expect(health.report().isWell).toBe(true);
});

test('keeps a token, so that refused credentials are visible without an invoice', async () => {
  const { service, component, refuse, alerts, open, pass } = aService();
  refuse(true);
  const { run } = tokenCheck(service, { alerts });
  const { signal } = new AbortController();
  await run(signal);
  expect(open.has('credentials')).toBe(true);
  expect(component()).toMatchObject({ isHealthy: false });
  pass(60);
  refuse(false);
  await run(signal);
  expect(open.size).toBe(0);
  expect(component()?.detail).toBe(
    'last good answer 2026-03-01 09:00 UTC (token); token good until 2026-03-01 09:10 UTC',
  );
});
