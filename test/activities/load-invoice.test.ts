/** Alerts of a load: the file differs from the announcement, or does not count. */

import { join } from 'node:path';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterEach, expect, test } from 'vitest';
import type { WarehouseDependencies } from '../../activities/dependencies.ts';
import { createInvoiceActivities } from '../../activities/invoice-records.ts';
import { createLoadActivities } from '../../activities/load.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import type { LoadInvoiceResult } from '../../workflows/activities.ts';
import { aCsv, anEvent, archiveCsv, aWarehouse, INVOICE, type TestWarehouse } from '../warehouse/support.ts';

let t: TestWarehouse;
afterEach(() => t.close());

test('logs and counts a load', async () => {
  t = await aWarehouse();
  const { warehouse, archive } = t;
  const quarantine = await openQuarantine(join(t.dataDir, 'inbox', 'quarantine'));
  const logged: unknown[] = [];
  const log = { info: (...line: unknown[]) => void logged.push(line) };
  const alerts = { raise: () => undefined, resolve: () => undefined };
  const metrics = createMetrics('worker');
  const deps = { warehouse, archive, quarantine, alerts, metrics, log, now: () => new Date() };
  const { loadInvoice } = createLoadActivities(deps as unknown as WarehouseDependencies);
  const load = async (bytes: Buffer): Promise<LoadInvoiceResult> => {
    const { sha256 } = await archiveCsv(t, bytes);
    const asked = { source: 'regenerate', announcedSha256: sha256, eventId: null, workflowRunId: null };
    return new MockActivityEnvironment().run(loadInvoice as never, { invoiceId: INVOICE, sha256, ...asked });
  };

  await t.record([anEvent('invoice_finalized')]);
  expect(await load(aCsv())).toMatchObject({ outcome: 'loaded' });
  expect(logged).toMatchObject([[{ invoiceId: INVOICE, version: 1, shipments: 1 }, 'invoice loaded']]);
  const counted = await metrics.text();
  expect(counted).toContain('billsync_loads_total{outcome="loaded",role="worker"} 1');
  expect(counted).toMatch(/^billsync_loaded_rows_total\{role="worker"\} 1$/m);
});

test('raises an alert for an export that does not count beside an announced file', async () => {
  t = await aWarehouse();
  const { warehouse, archive } = t;
  const quarantine = await openQuarantine(join(t.dataDir, 'inbox', 'quarantine'));
  const raised = new Map<string, Alert>();
  const alerts = {
    raise: (alert: Alert) => void raised.set(alert.key, alert),
    resolve: (key: string) => void raised.delete(key),
  };
  const log = { info: () => undefined };
  const metrics = createMetrics('worker');
  const deps = { warehouse, archive, quarantine, alerts, metrics, log, now: () => new Date() };
  const { loadInvoice } = createLoadActivities(deps as unknown as WarehouseDependencies);
  const load = async (bytes: Buffer, source: 'event' | 'export'): Promise<LoadInvoiceResult> => {
    const { sha256 } = await archiveCsv(t, bytes);
    const asked = {
      source,
      announcedSha256: source === 'event' ? sha256 : null,
      eventId: null,
      workflowRunId: null,
    };
    return new MockActivityEnvironment().run(loadInvoice as never, { invoiceId: INVOICE, sha256, ...asked });
  };
  const { sha256, sizeBytes } = await archiveCsv(t, aCsv());
  await t.record([anEvent('invoice_finalized', { fileHashSha256: sha256, fileSizeBytes: sizeBytes })]);
  await load(aCsv(), 'event');
  expect(await load(aCsv([{ 'Tracking Number': '1Z9' }]), 'export')).toMatchObject({ outcome: 'loaded' });
  expect([...raised.keys()]).toEqual([`outranked/${INVOICE}`]);
  expect(raised.get(`outranked/${INVOICE}`)?.detail).toContain(`use-version ${INVOICE} 2`);
  const decision = {
    kind: 'use-version',
    version: 2,
    invoiceId: INVOICE,
    by: 'ada',
    reason: 'so',
    isDryRun: false,
  };
  await new MockActivityEnvironment().run(
    createInvoiceActivities(deps as unknown as WarehouseDependencies).decideInvoice as never,
    decision,
  );
  expect([...raised.keys()]).toEqual([]);
  expect((await warehouse.invoice(INVOICE))?.loadedVersion).toBe(2);
});
