import { describe, expect, test } from 'vitest';
import { createHealth } from '../../lib/health/health.ts';
import { createMetrics } from '../../lib/metrics.ts';

describe('metrics', () => {
  test('are labeled with their role and created once', async () => {
    const metrics = createMetrics('worker');
    metrics.counter('deliveries_total').inc({ status: 'accepted' });
    expect(metrics.counter('loads_total')).toBe(metrics.counter('loads_total'));
    metrics.counter('loads_total').inc({ outcome: 'loaded' }, 2);
    metrics.histogram('load_seconds').observe(0.5);
    const text = await metrics.text();
    expect(text).toContain('billsync_deliveries_total{status="accepted",role="worker"} 1');
    expect(text).toContain('billsync_loads_total{outcome="loaded",role="worker"} 2');
    expect(text).toContain('billsync_load_seconds_bucket{le="1",role="worker"} 1');
    metrics.gauge('last_load_timestamp_seconds');
    expect(await metrics.text()).not.toMatch(/^billsync_last_load_timestamp_seconds/m);
    expect(await createMetrics('webhook').text()).not.toContain('billsync_loads_total');
  });

  test('are measured before they are read, with a minimum interval', async () => {
    const metrics = createMetrics('worker');
    let often = 0;
    let seldom = 0;
    metrics.beforeRead(() => metrics.gauge('inbox_backlog').set(++often));
    metrics.beforeRead(() => metrics.gauge('shipments').set(++seldom), 60_000);
    metrics.beforeRead(async () => {
      throw new Error('The file is being replaced.');
    });
    await metrics.text();
    const text = await metrics.text();
    expect(text).toContain('billsync_inbox_backlog{role="worker"} 2');
    expect(text).toContain('billsync_shipments{role="worker"} 1');
  });
});

describe('health', () => {
  test('is ready while every component is healthy', () => {
    let minute = 0;
    const health = createHealth(() => new Date(Date.UTC(2026, 2, 1, 0, minute)));
    expect(health.report()).toEqual({ isReady: true, isWell: true, components: {} });
    health.set('temporal', { isHealthy: true });
    health.set('inbox', { isHealthy: false, detail: 'full' });
    minute = 5;
    health.set('inbox', { isHealthy: false, detail: 'still full' });
    expect(health.report()).toMatchObject({
      isReady: false,
      components: { inbox: { isHealthy: false, detail: 'still full', since: '2026-03-01T00:00:00.000Z' } },
    });
    health.set('inbox', { isHealthy: true });
    expect(health.report()).toMatchObject({
      isReady: true,
      components: { inbox: { since: '2026-03-01T00:05:00.000Z', detail: '' } },
    });
  });
});
