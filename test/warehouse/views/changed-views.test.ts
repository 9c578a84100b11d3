/** Views are files that are edited where they stand; a warehouse that was made with other texts takes the new ones. */

import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { views } from '../../../warehouse/duckdb/sql.ts';
import { aCsv, anEvent, ask, aWarehouse, loadCsv, type TestWarehouse } from '../support.ts';

let t: TestWarehouse;
beforeAll(async () => {
  t = await aWarehouse();
  await t.record([anEvent('invoice_finalized')]);
  await loadCsv(t, aCsv());
});
afterAll(() => t.close());

/** Changes the closed warehouse as another version of billsync would have left it. */
async function leave(...statements: readonly string[]): Promise<void> {
  const { warehouse } = t.settings;
  if (warehouse.kind !== 'duckdb') throw new Error('This test needs a warehouse in a file.');
  const instance = await DuckDBInstance.create(warehouse.path);
  const connection = await instance.connect();
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}

const published = async (question: string) => ask((await t.warehouse.publish()).path, question);

test('updates views that were made from other texts', async () => {
  const before = await published('describe shipments');
  await t.warehouse.close();
  await leave(
    'create or replace view shipments as select 1 as of_another_version',
    "update internal.applied_views set sha256 = 'of another version'",
  );
  await t.reopen();
  expect(await published('describe shipments')).toEqual(before);
  expect(await published('select sha256 from internal.applied_views')).toEqual([{ sha256: views().sha256 }]);
});

test('updates views of unknown origin and keeps the rows', async () => {
  const before = await published('from shipments order by all');
  await t.warehouse.close();
  await leave(
    'delete from internal.applied_views',
    'create or replace view shipments as select 1 as of_another_version',
  );
  await t.reopen();
  expect(await published('from shipments order by all')).toEqual(before);
});

describe('the tables behind the views', () => {
  const shown = [
    ...[
      'carriers',
      'discrepancies',
      'events',
      'files',
      'invoice_amounts',
      'invoices',
      'level_cross_check',
      'partners',
    ],
    ...['publication', 'schema_migrations', 'shipment_versions', 'shipments', 'tenant_shipments', 'tenants'],
  ];
  const tables = `select table_name as name, has_primary_key from duckdb_tables() where schema_name = 'internal' order by all`;

  test('are in a schema of their own', async () => {
    const names = await published('show tables');
    expect(names.map(({ name }) => name)).toEqual(shown);
    expect(await published(tables)).toContainEqual({ name: 'shipment_rows', has_primary_key: false });
  });
});
