import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createHealth } from '../../lib/health/health.ts';
import { openOrRebuild } from '../../worker/open-or-rebuild.ts';
import { eventually } from '../support/eventually.ts';
import { memoryAlerts } from '../support/memory-alerts.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  INVOICE,
  loadCsv,
  silent,
  type TestWarehouse,
} from '../warehouse/support.ts';

let at: TestWarehouse;
const { alerts, calls } = memoryAlerts();

beforeEach(async () => {
  calls.length = 0;
  at = await aWarehouse();
  await at.archive.putEvent(anEvent('invoice_finalized'));
  await loadCsv(at, aCsv([{ 'Billing Cost': '9.16' }, { 'Billing Cost': '-0.0001' }]));
  await at.warehouse.publish();
  await at.warehouse.close();
});
afterEach(() => at.close());

const open = (alertForMs?: number) =>
  openOrRebuild({
    ...(alertForMs === undefined ? {} : { alertForMs }),
    ...{ settings: at.settings, archive: at.archive, log: silent, alerts, health: createHealth() },
    onFatal: (error) => void calls.push(`fatal ${error.name}`),
  });

test('moves an unreadable warehouse aside and rebuilds it from the archive', async () => {
  const path = join(at.dataDir, 'warehouse.duckdb');
  const damaged = Buffer.from('this is no database any more');
  writeFileSync(path, damaged);

  const warehouse = await open(50);
  expect(calls).toEqual(['raised warehouse']);
  expect(await warehouse.invoice(INVOICE)).toMatchObject({ state: 'loaded', billingCost: '9.1599' });
  await warehouse.close();

  const [aside] = readdirSync(join(at.dataDir, 'run', 'aside'));
  expect(readFileSync(join(at.dataDir, 'run', 'aside', aside ?? '')).equals(damaged)).toBe(true);
  await eventually(() => calls.length > 1);
  expect(calls).toEqual(['raised warehouse', 'resolved warehouse']);
});

test('does not rebuild a warehouse that another process holds', async () => {
  const first = await open();
  await expect(open()).rejects.toMatchObject({ code: 'warehouse-locked' });
  await first.close();
  expect(readdirSync(at.dataDir)).not.toContain('aside');
});
