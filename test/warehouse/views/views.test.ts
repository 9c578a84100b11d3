/** The views that analysts' own scripts open: names, order and types are a contract; columns may be added behind. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { aCsv, anEvent, ask, aWarehouse, loadCsv, type TestWarehouse } from '../support.ts';

let t: TestWarehouse;
let path: string;
beforeAll(async () => {
  t = await aWarehouse();
  await t.record([anEvent('invoice_finalized')]);
  await loadCsv(t, aCsv());
  path = (await t.warehouse.publish()).path;
});
afterAll(() => t.close());

const columns = async (view: string): Promise<string[]> => {
  const described = await ask(path, `describe ${view}`);
  return described.map(({ column_name, column_type }) => `${column_name} ${column_type}`);
};

test('shipments has its columns in the promised order and types', async () => {
  expect(await columns('shipments')).toEqual([
    'tenant VARCHAR',
    'tenant_id VARCHAR',
    'partner_tenant_id VARCHAR',
    'invoice_id UUID',
    'invoice_number VARCHAR',
    'invoice_level VARCHAR',
    'invoice_generation_date DATE',
    'ship_date DATE',
    'origin VARCHAR',
    'currency_code VARCHAR',
    'billing_cost DECIMAL(18,4)',
    'billable_weight DECIMAL(18,4)',
    'billable_weight_unit VARCHAR',
    'tracking_number VARCHAR',
    'carrier VARCHAR',
    'carrier_zone VARCHAR',
    'carrier_invoice_date DATE',
    'service_level VARCHAR',
    'row_number INTEGER',
    'file_sha256 VARCHAR',
    'loaded_at TIMESTAMP WITH TIME ZONE',
    'added_columns VARCHAR',
    'partner_id VARCHAR',
  ]);
});

test.each([
  ['events', 'event_id VARCHAR'],
  ['files', 'file_sha256 VARCHAR'],
  ['discrepancies', 'rule VARCHAR'],
  ['publication', 'sequence INTEGER'],
])('%s can be asked', async (view, column) => {
  expect(await columns(view)).toContain(column);
  expect(await ask(path, `select count(*)::integer as n from ${view}`)).toHaveLength(1);
});

test('publication has one row that describes the copy', async () => {
  expect(await ask(path, 'select sequence, shipments::integer as shipments from publication')).toEqual([
    { sequence: 1, shipments: 1 },
  ]);
});
