/** What a publication notes of repeated tracking numbers, when loads come one after the other and levels change. */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test } from 'vitest';
import type { Session } from '../../warehouse/duckdb/session.ts';
import { noteRepeats } from '../../warehouse/publish/note-repeats.ts';
import { anInvoice, aShipment, reportsFixture, sessionOver } from '../support/reports/reports-fixture.ts';
import { seededInvoices } from '../support/reports/seeded-invoices.ts';
import { aCsv, anEvent, ask, aWarehouse, loadCsv } from './support.ts';

const ARE_NOTED = fileURLToPath(new URL('../../reports/session/repeats-are-noted.sql', import.meta.url));
const THIRD = '33333333-3333-4333-8333-333333333333';

async function unnoted(invoices: Parameters<typeof reportsFixture>[0]): Promise<Session> {
  const fixture = await reportsFixture(invoices, { notesRepeats: false });
  // As the warehouse's own door does, since a session keeps what it has prepared.
  const options = { disabled_optimizers: 'statistics_propagation' };
  const instance = await DuckDBInstance.create(fixture.path, options);
  const session = sessionOver(await instance.connect());
  await session.script("set search_path = 'main,internal'");
  onTestFinished(async () => {
    session.close();
    instance.closeSync();
    await fixture.remove();
  });
  return session;
}

async function noted(session: Session): Promise<string[]> {
  const rows = await session.statement('select load_id, row_number from repeated_rows order by all');
  return rows.map((row) => `${row.load_id}/${row.row_number}`);
}

test('loads that come one by one are noted as all of them at once are', async () => {
  const invoices = seededInvoices(5, 60);
  const atOnce = await unnoted(invoices);
  await atOnce.transaction(() => noteRepeats(atOnce));

  const oneByOne = await unnoted(invoices);
  await oneByOne.script(
    'create temp table later as from shipment_rows; create temp table later_loads as from loads',
  );
  await oneByOne.script('delete from shipment_rows; delete from loads');
  for (let load = 1; load <= invoices.length; load += 1) {
    await oneByOne.statement('insert into loads from later_loads where load_id = $load::integer', { load });
    await oneByOne.statement('insert into shipment_rows from later where load_id = $load::integer', { load });
    await oneByOne.transaction(() => noteRepeats(oneByOne));
  }
  const expected = await noted(atOnce);
  expect(expected.length).toBeGreaterThan(50);
  expect(await noted(oneByOne)).toEqual(expected);
  expect(await oneByOne.first('count-repeated-rows')).toEqual(await atOnce.first('count-repeated-rows'));
});

test('an invoice whose level becomes known is compared with those of its new level', async () => {
  const test = await aWarehouse();
  onTestFinished(() => test.close());
  const ofPartner = '22222222-2222-4222-8222-222222222222';
  await test.record([anEvent('invoice_finalized')]);
  await loadCsv(test, aCsv([{}]));
  await loadCsv(test, aCsv([{}], ofPartner), { invoiceId: ofPartner });
  const published = async () => {
    const { path } = await test.warehouse.publish();
    const noted = await ask(path, 'select load_id from internal.repeated_rows order by all');
    const [{ are_noted: areNoted } = {}] = await ask(
      path,
      `set search_path = 'main,internal'; ${await readFile(ARE_NOTED, 'utf8')}`,
    );
    return { loads: noted.map((row) => row.load_id), areNoted };
  };
  // As long as nobody said, it counts as a tenant's.
  expect(await published()).toEqual({ loads: [1, 2], areNoted: true });
  await test.record([anEvent('invoice_finalized', { header: { invoiceId: ofPartner, tenantId: null } })]);
  await loadCsv(test, aCsv([{}], THIRD), { invoiceId: THIRD });
  expect(await published()).toEqual({ loads: [1, 2, 3], areNoted: true });
  await test.record([anEvent('invoice_finalized', { header: { invoiceId: THIRD, tenantId: null } })]);
  expect(await published()).toEqual({ loads: [1, 2, 3], areNoted: true });
});

test('a new file of the same invoice repeats nothing', async () => {
  const shipments = [aShipment({ tracking: 'A' })];
  const session = await unnoted([
    anInvoice(shipments, { earlier: [{ loadedAt: '2026-03-09T00:00:00Z', shipments }] }),
  ]);
  await session.transaction(() => noteRepeats(session));
  expect(await noted(session)).toEqual([]);
});
