import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WarehouseDependencies } from '../../activities/dependencies.ts';
import { createInvoiceActivities } from '../../activities/invoice-records.ts';
import { createLoadActivities } from '../../activities/load.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import type { LoadInvoiceResult } from '../../workflows/activities.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import { aCsv, anEvent, archiveCsv, aWarehouse, INVOICE, type TestWarehouse } from '../warehouse/support.ts';

let t: TestWarehouse;
let deps: WarehouseDependencies;
let metrics: ReturnType<typeof createMetrics>;
let logged: unknown[];
const { alerts, open } = memoryAlerts();

beforeEach(async () => {
  t = await aWarehouse();
  metrics = createMetrics('worker');
  logged = [];
  const { warehouse, archive } = t;
  const quarantine = await openQuarantine(join(t.dataDir, 'inbox', 'quarantine'));
  const log = { info: (...line: unknown[]) => void logged.push(line) };
  const parts = { warehouse, archive, quarantine, alerts, metrics, log, now: () => new Date() };
  deps = parts as unknown as WarehouseDependencies;
});
afterEach(() => t.close());

async function load(bytes: Buffer, source: 'event' | 'export'): Promise<LoadInvoiceResult> {
  const { sha256 } = await archiveCsv(t, bytes);
  const announcedSha256 = source === 'event' ? sha256 : null;
  const request = { invoiceId: INVOICE, sha256, source, announcedSha256, eventId: null, workflowRunId: null };
  return new MockActivityEnvironment().run(createLoadActivities(deps).loadInvoice as never, request);
}

test('logs and counts a load', async () => {
  await t.record([anEvent('invoice_finalized')]);
  expect(await load(aCsv(), 'event')).toMatchObject({ outcome: 'loaded' });
  expect(logged).toMatchObject([[{ invoiceId: INVOICE, version: 1, shipments: 1 }, 'invoice loaded']]);
  const counted = await metrics.text();
  expect(counted).toContain('billsync_loads_total{outcome="loaded",role="worker"} 1');
  expect(counted).toMatch(/^billsync_loaded_rows_total\{role="worker"\} 1$/m);
});

test('raises an alert for an export that does not count beside an announced file', async () => {
  const { sha256, sizeBytes } = await archiveCsv(t, aCsv());
  await t.record([anEvent('invoice_finalized', { fileHashSha256: sha256, fileSizeBytes: sizeBytes })]);
  await load(aCsv(), 'event');
  expect(await load(aCsv([{ 'Tracking Number': '1Z9' }]), 'export')).toMatchObject({ outcome: 'loaded' });
  expect([...open.keys()]).toEqual([`outranked/${INVOICE}`]);
  expect(open.get(`outranked/${INVOICE}`)?.detail).toContain(`use-version ${INVOICE} 2`);
  await new MockActivityEnvironment().run(createInvoiceActivities(deps).decideInvoice as never, {
    ...{ kind: 'use-version', version: 2, invoiceId: INVOICE },
    ...{ by: 'ada', reason: 'so', isDryRun: false },
  });
  expect([...open.keys()]).toEqual([]);
  expect((await t.warehouse.invoice(INVOICE))?.loadedVersion).toBe(2);
});
