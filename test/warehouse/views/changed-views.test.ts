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

test('a warehouse whose views were made from other texts has the present ones when it is opened', async () => {
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

test('a warehouse that does not know of which texts its views are takes the present ones and keeps its rows', async () => {
  const before = await published('from shipments order by all');
  await t.warehouse.close();
  await leave(
    'delete from internal.applied_views',
    'create or replace view shipments as select 1 as of_another_version',
  );
  await t.reopen();
  expect(await published('from shipments order by all')).toEqual(before);
});

test('views are left alone while no text of theirs has changed', async () => {
  const before = await published('select applied_at from internal.applied_views');
  await t.warehouse.close();
  await t.reopen();
  expect(await published('select applied_at from internal.applied_views')).toEqual(before);
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

  test('lie in a schema of their own, so that only what is safe to use is shown', async () => {
    const names = await published('show tables');
    expect(names.map(({ name }) => name)).toEqual(shown);
    expect(await published(tables)).toContainEqual({ name: 'shipment_rows', has_primary_key: false });
  });

  test('are moved there, with every row and key, in a warehouse that had them beside its views', async () => {
    const drift = async () => (await t.warehouse.verify({ full: true })).drift;
    const before = {
      ...{ rows: await published('from shipments order by all'), tables: await published(tables) },
      drift: await drift(),
    };
    expect(before.rows.length).toBeGreaterThan(0);
    await t.warehouse.close();
    // What a later migration made was never there.
    const later = ['billed_months', 'event_keys', 'invoice_keys', 'marked_rows'];
    const names = before.tables.map(({ name }) => String(name)).filter((name) => !later.includes(name));
    await leave(
      ...names.map((name) => `create table main.${name} as from internal.${name}`),
      'drop schema internal cascade',
      'delete from schema_migrations where number >= 12',
    );
    await t.reopen();
    expect(await published('from shipments order by all')).toEqual(before.rows);
    expect(await published(tables)).toEqual(before.tables);
    expect(
      await published(
        'select count(*)::int as missing from (select invoice_id from internal.invoice_state except from internal.invoice_keys)',
      ),
    ).toEqual([{ missing: 0 }]);
    expect((await published('show tables')).map(({ name }) => name)).toEqual(shown);
    expect(await drift()).toEqual(before.drift);
  });
});
