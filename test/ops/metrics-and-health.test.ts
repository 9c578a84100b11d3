/** What a role says of itself to machines. */

import { describe, expect, test } from 'vitest';
import { createHealth } from '../../ops/health.js';
import { createMetrics } from '../../ops/metrics.js';

describe('metrics', () => {
  test('are labelled with their role, and one name is made once', async () => {
    const metrics = createMetrics('worker');
    metrics.deliveries.inc({ status: 'accepted' });
    expect(metrics.counter('loads_total', 'Loads.')).toBe(metrics.counter('loads_total', 'Loads.'));
    metrics.counter('loads_total', 'Loads.').inc(2);
    metrics.histogram('load_seconds', 'Loads.', { buckets: [1] }).observe(0.5);
    const text = await metrics.text();
    expect(text).toContain('billsync_deliveries_total{status="accepted",role="worker"} 1');
    expect(text).toContain('billsync_loads_total{role="worker"} 2');
    expect(text).toContain('billsync_load_seconds_bucket{le="1",role="worker"} 1');
    expect(await createMetrics('webhook').text()).not.toContain('billsync_loads_total');
  });
});

describe('health', () => {
  test('is ready while every component is healthy, and knows since when not', () => {
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
