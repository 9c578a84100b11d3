/** A drift larger than a history may hold is cut, and its number is told. */

import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import type { WarehouseDependencies } from '../../activities/dependencies.ts';
import { verifyWarehouse } from '../../activities/verify-warehouse.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import type { Verification } from '../../warehouse/warehouse.ts';

test('reports the first 200 lines of a large drift and their count', async () => {
  const drift = Array.from({ length: 300 }, (_, index) => ({ invoiceId: `${index}`, rule: 'sum' }));
  const raised: Alert[] = [];
  const told: unknown[] = [];
  const environment = new MockActivityEnvironment();
  const heard = new Promise<void>((resolve) => {
    environment.on('heartbeat', (details: unknown) => {
      told.push(details);
      resolve();
    });
  });
  const warehouse = {
    async verify({ onProgress }: { onProgress: (done: number, of: number) => void }) {
      onProgress(7, 300);
      await heard;
      return { invoices: 300, shipments: 300, filesRead: 300, drift, discrepancies: 0 };
    },
  };
  const deps = {
    ...{ warehouse, alerts: { raise: (alert: Alert) => void raised.push(alert) } },
    log: { error: () => undefined },
  } as unknown as WarehouseDependencies;
  const found = (await environment.run(verifyWarehouse(deps) as never, { full: true })) as Verification;
  expect(found).toMatchObject({ invoices: 300, driftInAll: 300 });
  expect(found.drift).toHaveLength(200);
  expect(raised).toMatchObject([{ key: 'drift', detail: expect.stringContaining('300 differences') }]);
  expect(told[0]).toEqual({ done: 7, of: 300 });
});
