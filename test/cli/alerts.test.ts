import { expect, test } from 'vitest';
import { createAlerts, registerInvoiceNumbers } from '../../lib/alerts/alerts.ts';
import { createLogger } from '../../lib/log/log.ts';
import { testFolder } from '../support/folders.ts';
import { billsync } from '../support/processes/billsync.ts';
import { anEvent, aWarehouse, INVOICE } from '../warehouse/support.ts';
import { testSettings } from '../webhook/a-delivery.ts';

const dataDir = testFolder();

const run = (...args: string[]) => billsync(['alerts', ...args], { env: { BILLSYNC_DATA_DIR: dataDir } });

test('lists open alerts and records decisions', async () => {
  expect(await run('list', '--json')).toMatchObject({ exitCode: 0, stdout: '[]\n' });
  const settings = testSettings(dataDir);
  const alerts = createAlerts({
    ...{ settings, log: createLogger(settings, 'worker', { write: () => undefined }) },
    ...{ scrub: (text) => text, store: { dataDir, role: 'worker' } },
  });
  alerts.raise({ key: 'disk/full', title: 'The disk is nearly full', detail: 'Make room.' });
  alerts.raise({ key: 'voided-after-load/1', title: 'Invoice 1 was voided' });
  await alerts.close();

  expect(await run('list', '--json')).toMatchObject({ exitCode: 1 });
  expect(await run('acknowledge', 'nosuch')).toMatchObject({ exitCode: 3 });
  expect(await run('acknowledge')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--all') });
  expect(await run('acknowledge', '--all', '--dry-run')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('disk/full'),
  });
  expect(await run('acknowledge', '--all', '--note', 'I look')).toMatchObject({ exitCode: 0 });
  expect(await run('quiet', 'disk/full', '--for', '8h')).toMatchObject({ exitCode: 0 });
  const { stdout, exitCode } = await run('list', '--json');
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject([
    {
      key: 'disk/full',
      role: 'worker',
      acknowledged_at: expect.any(String),
      note: 'I look',
      quiet_until: expect.any(String),
    },
  ]);
});

test('name an invoice by its number, which acknowledges them', async () => {
  const t = await aWarehouse();
  const other = '22222222-2222-4222-8222-222222222222';
  await t.record([anEvent('invoice_created')]);
  await t.warehouse.publish();
  const end = registerInvoiceNumbers(t.dataDir, (ids) => t.warehouse.invoiceNumbers(ids));
  const settings = testSettings(t.dataDir);
  const alerts = createAlerts({
    ...{ settings, log: createLogger(settings, 'worker', { write: () => undefined }) },
    ...{ scrub: (text) => text, store: { dataDir: t.dataDir, role: 'worker' } },
  });
  for (const id of [INVOICE, other])
    alerts.raise({ key: `attention/${id}`, title: `Invoice ${id} needs attention` });
  alerts.raise({ key: `failure/${INVOICE}`, title: 'It fails' });
  await alerts.close();
  end();
  const env = { BILLSYNC_DATA_DIR: t.dataDir };
  const listed = async () =>
    JSON.parse((await billsync(['alerts', 'list', '--json'], { env })).stdout) as {
      acknowledged_at: unknown;
    }[];
  expect(await listed()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ title: 'Invoice INV-1 needs attention' }),
      expect.objectContaining({ title: `Invoice ${other} needs attention` }),
    ]),
  );
  const acknowledge = (key: string) => billsync(['alerts', 'acknowledge', key], { env });
  expect(await acknowledge('attention/inv-1')).toMatchObject({ exitCode: 0 });
  expect((await listed()).filter((alert) => alert.acknowledged_at !== null)).toHaveLength(1);
  expect(await acknowledge('INV-1')).toMatchObject({ exitCode: 0 });
  expect((await listed()).filter((alert) => alert.acknowledged_at !== null)).toHaveLength(2);
  expect(await acknowledge('INV-2')).toMatchObject({ exitCode: 3 });
  await t.close();
});
