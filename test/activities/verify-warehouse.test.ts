import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { WarehouseDependencies } from '../../activities/dependencies.ts';
import { createWarehouseWideActivities } from '../../activities/warehouse.ts';
import { createMetrics } from '../../lib/metrics.ts';
import type { Verification } from '../../lib/warehouse-requests.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';

test('reports the first 200 lines of a large drift and their count', async () => {
  const drift = Array.from({ length: 300 }, (_, index) => ({ invoiceId: `${index}`, rule: 'sum' }));
  const { alerts, open } = memoryAlerts();
  const progress: unknown[] = [];
  const environment = new MockActivityEnvironment();
  const reported = new Promise<void>((resolve) => {
    environment.on('heartbeat', (details: unknown) => {
      progress.push(details);
      resolve();
    });
  });
  const warehouse = {
    async verify({ onProgress }: { onProgress: (done: number, of: number) => void }) {
      onProgress(7, 300);
      await reported;
      return { invoices: 300, shipments: 300, filesRead: 300, drift, discrepancies: 0 };
    },
  };
  const deps = {
    ...{ warehouse, alerts, log: { error: () => undefined }, metrics: createMetrics('worker') },
  } as unknown as WarehouseDependencies;
  const { verifyWarehouse } = createWarehouseWideActivities(deps);
  const found = (await environment.run(verifyWarehouse as never, { full: true })) as Verification;
  expect(found).toMatchObject({ invoices: 300, driftInAll: 300 });
  expect(found.drift).toHaveLength(200);
  expect(open.get('drift')?.detail).toContain('300 differences');
  expect(progress[0]).toEqual({ done: 7, of: 300 });
  drift.length = 0;
  for (const full of [false, true]) {
    expect(open.has('drift')).toBe(true);
    await new MockActivityEnvironment().run(verifyWarehouse as never, { full });
  }
  expect(open.size).toBe(0);
});
