import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, expect, test } from 'vitest';
import { anInvoice, aShipment, reportsFixture } from '../../support/reports-fixture.ts';
import { queryFile } from '../support.ts';

const fixture = await reportsFixture([
  anInvoice(
    [
      aShipment({ tracking: '1Z1', cost: '10', weight: '0.4536', unit: 'KG', zone: 'Zone 05' }),
      aShipment({ tracking: '1Z1', cost: '-2' }),
      aShipment({ tracking: '1Z2', cost: '3', currency: 'EUR' }),
    ],
    { number: 'INV-A', currency: 'USD', loadedAt: '2026-03-10T12:00:00Z' },
  ),
  anInvoice(
    [aShipment({ tracking: '1Z2', cost: '5' }), aShipment({ tracking: '1Z2', cost: '0', carrier: 'fedex' })],
    { number: 'INV-B', level: null },
  ),
  anInvoice([aShipment({ tracking: '1Z1', cost: '8' })], { number: 'INV-P', level: 'partner' }),
  anInvoice([aShipment({ tracking: '1Z9', cost: '99' })], {
    number: 'INV-V',
    state: 'voided',
    voidedAt: '2026-03-20T00:00:00Z',
  }),
]);
afterAll(() => fixture.remove());

test.each(['UTC', 'Asia/Tokyo', 'America/Los_Angeles'])(
  'shipments_as_known_on answers an instant alike in a session of %s',
  async (zone) => {
    const instance = await DuckDBInstance.create(fixture.path, { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    await connection.run(`set TimeZone = '${zone}'`);
    const count = async (instant: string): Promise<unknown> =>
      (
        await connection.runAndReadAll(
          `select count(*)::integer from shipments_as_known_on(timestamptz '${instant}')`,
        )
      ).getRowsJson()[0]?.[0];
    expect([await count('2026-03-10 11:59:59+00'), await count('2026-03-10 12:00:00+00')]).toEqual([0, 7]);
    expect(await count('2026-03-20 09:00:00+09')).toBe(6);
    connection.closeSync();
    instance.closeSync();
  },
);

test('has a comment on every view and column', async () => {
  const bare = await queryFile(
    fixture.path,
    `select v.view_name as view, c.column_name as column
    from duckdb_views() as v
    join duckdb_columns() as c on c.table_name = v.view_name and c.schema_name = v.schema_name
    where v.schema_name = 'main' and not v.internal and (v.comment is null or c.comment is null)`,
  );
  expect(bare).toEqual([]);
  const weight = `select comment from duckdb_columns() where table_name = 'shipments' and column_name = 'billable_weight'`;
  expect(await queryFile(fixture.path, weight)).toEqual([
    { comment: 'Weight used for rating; unit in billable_weight_unit' },
  ]);
});
