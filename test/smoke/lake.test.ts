import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LakeServer, queryLake, startLakeServer } from '../warehouse/lake/support.ts';
import {
  aCsv,
  anEvent,
  aWarehouse,
  INVOICE,
  loadCsv,
  makeDataDir,
  sha256,
  type TestWarehouse,
} from '../warehouse/support.ts';

let server: LakeServer;
let t: TestWarehouse | undefined;

beforeAll(async () => {
  server = await startLakeServer();
});
afterAll(async () => {
  await t?.close();
  await server?.stop();
});

test('loads a file once, proves it and removes a voided invoice from the sums', async () => {
  const settings = await server.aLake(makeDataDir());
  t = await aWarehouse({ settings });
  const bytes = aCsv([{}, { 'Billing Cost': '-0.0001' }]);
  const announced = { fileHashSha256: sha256(bytes), fileSizeBytes: bytes.length };
  await t.record([anEvent('invoice_finalized', announced)]);
  const [first, again] = [await loadCsv(t, bytes), await loadCsv(t, bytes)];
  expect([first.outcome, again.outcome]).toEqual(['loaded', 'already_loaded']);
  const sums = 'select count(*)::integer as rows, sum(billing_cost)::varchar as cost from shipments';
  expect(await queryLake(settings, sums)).toEqual([{ rows: 2, cost: '9.1599' }]);
  expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);

  await t.record([anEvent('invoice_voided', { eventTimestamp: '2026-03-02T00:00:00Z' })]);
  await t.warehouse.publish();
  expect(await queryLake(settings, sums)).toEqual([{ rows: 0, cost: null }]);
  expect(await queryLake(settings, `select state from invoices where invoice_id = '${INVOICE}'`)).toEqual([
    { state: 'voided' },
  ]);
});
