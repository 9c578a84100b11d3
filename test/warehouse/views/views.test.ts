import { afterAll, expect, test } from 'vitest';
import { views } from '../../../warehouse/duckdb/sql.ts';
import { aCsv, anEvent, aWarehouse, loadCsv, runOnFile } from '../support.ts';

const VOIDED = '22222222-2222-4222-8222-222222222222';
const DRAFT = '33333333-3333-4333-8333-333333333333';

const t = await aWarehouse();
await t.record([
  anEvent('invoice_finalized'),
  anEvent('invoice_created', { header: { invoiceId: DRAFT } }),
  anEvent('invoice_created', { header: { invoiceId: VOIDED } }),
]);
await loadCsv(t, aCsv([{}, {}]));
await loadCsv(t, aCsv());
await loadCsv(t, aCsv([{}], VOIDED), { invoiceId: VOIDED });
await t.warehouse.voidInvoice(VOIDED);
afterAll(() => t.close());

const columns = async (view: string): Promise<string[]> => {
  const described = await t.query(`describe ${view}`);
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
])('%s can be queried', async (view, column) => {
  expect(await columns(view)).toContain(column);
  expect(await t.query(`select count(*)::integer as n from ${view}`)).toHaveLength(1);
});

test('publication has one row that counts neither replaced versions, nor voids, nor drafts', async () => {
  const counts =
    'invoices::integer as invoices, loaded_invoices::integer as loaded, shipments::integer as shipments';
  expect(await t.query(`select ${counts} from publication`)).toEqual([
    { invoices: 3, loaded: 1, shipments: 1 },
  ]);
});

/** Changes the closed warehouse as another version of billsync would have left it. */
async function changeViews(recordOfViews: string): Promise<void> {
  await t.warehouse.close();
  const { warehouse } = t.settings;
  if (warehouse.kind !== 'duckdb') throw new Error('This test needs a warehouse in a file.');
  const view = 'create or replace view shipments as select 1 as of_another_version';
  await runOnFile(warehouse.path, view, recordOfViews);
  await t.reopen();
}

test.each([
  ['made from other texts', "update internal.applied_views set sha256 = 'of another version'"],
  ['of unknown origin', 'delete from internal.applied_views'],
])('replaces views %s and keeps the rows', async (_, recordOfViews) => {
  const before = [await columns('shipments'), await t.query('from shipments order by all')];
  await changeViews(recordOfViews);
  expect([await columns('shipments'), await t.query('from shipments order by all')]).toEqual(before);
  expect(await t.query('select sha256 from internal.applied_views')).toEqual([{ sha256: views().sha256 }]);
});

test('only views are visible; the tables are in a schema of their own', async () => {
  const names = (await t.query('show tables')).map(({ name }) => name);
  expect(names.join(' ')).toBe(
    'carriers discrepancies events files invoice_amounts invoices level_cross_check partners publication ' +
      'schema_migrations shipment_versions shipments tenant_shipments tenants',
  );
  const tables = `select table_name as name, has_primary_key from duckdb_tables() where schema_name = 'internal'`;
  expect(await t.query(tables)).toContainEqual({ name: 'shipment_rows', has_primary_key: false });
});
