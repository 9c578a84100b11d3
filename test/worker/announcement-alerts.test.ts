import { afterEach, expect, test } from 'vitest';
import { openAlerts } from '../../lib/alerts/alert-store.ts';
import { createAlerts } from '../../lib/alerts/alerts.ts';
import { createAnnouncementAlerts } from '../../worker/publication-listeners.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  INVOICE,
  loadCsv,
  sha256,
  silent,
  type TestWarehouse,
} from '../warehouse/support.ts';

let t: TestWarehouse;
afterEach(() => t.close());

test('keeps an alert open while the counting file differs from its announcement', async () => {
  t = await aWarehouse();
  const { dataDir } = t;
  const genuine = aCsv([{ 'Billing Cost': '9.16' }]);
  const copy = aCsv([{ 'Billing Cost': '9.16', 'Tracking Number': '1Z9' }]);
  const decided = { invoiceId: INVOICE, by: 'ada', reason: 'by phone', isDryRun: false };
  const open = async (work: () => Promise<unknown>) => {
    const alerts = createAlerts({
      ...{
        settings: {
          alerts: { quietWindow: '1h', webhookUrl: null, runbookUrl: null },
          environment: 'test',
        } as never,
        log: silent,
      },
      ...{ scrub: (text: string) => text, store: { dataDir, role: 'worker' } },
    });
    const watch = createAnnouncementAlerts({ warehouse: t.warehouse, dataDir, alerts, log: silent });
    await work();
    watch.published();
    await watch.close();
    await alerts.close();
    return (await openAlerts(dataDir)).map(({ key, detail }) => [key, detail]).sort();
  };
  expect(
    await open(async () => {
      await t.record([
        anEvent('invoice_finalized', { fileHashSha256: sha256(genuine), fileSizeBytes: genuine.length }),
      ]);
      await loadCsv(t, genuine);
      await loadCsv(t, copy, { source: 'regenerate' });
      await loadCsv(t, genuine, { source: 'regenerate' });
    }),
  ).toEqual([]);
  expect(await open(() => t.warehouse.decide({ kind: 'use-version', version: 2, ...decided }))).toEqual([
    [`announcement/${INVOICE}`, expect.stringContaining(`hash ${sha256(genuine)} announced`)],
  ]);
  // A command without a worker takes the decision back.
  await t.warehouse.decide({ kind: 'use-version', version: 1, ...decided });
  expect(await open(async () => undefined)).toEqual([]);
});
