import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { ArchivedEvent } from '../../../archive/archive.ts';
import { Database } from '../../../warehouse/duckdb/database.ts';
import { migrate } from '../../../warehouse/duckdb/schema.ts';
import { insertEvents } from '../../../warehouse/ledger/ingest.ts';
import { refreshInvoices } from '../../../warehouse/ledger/invoice-states.ts';
import { testFolder } from '../../support/folders.ts';
import { anEvent } from '../support.ts';

const OTHER_INVOICE = '33333333-3333-4333-8333-333333333333';

const folder = testFolder();
const path = join(folder, 'a.duckdb');
const database = await Database.open({ path, folders: [], temporaryFolder: folder, memoryLimit: null });
await migrate(database, new Date('2026-03-01T00:00:00Z'));
afterAll(() => {
  database.close();
});

/** Ingests without a lock around the invoice, while another transaction is open; the product never does. */
async function ingestOne(event: ArchivedEvent, meanwhile = async (): Promise<void> => {}): Promise<number> {
  return database.transaction(async (session) => {
    const taken = await insertEvents(session, [event]);
    await meanwhile();
    await refreshInvoices(session, taken);
    return taken.fresh;
  });
}

const counted = async (table: 'event_ledger' | 'invoice_state') =>
  database.use(async (session) =>
    Number((await session.statement(`select count(*)::int as n from ${table}`))[0]?.n),
  );

test('an event that two connections ingest at once is ingested by one of them', async () => {
  const event = anEvent('invoice_created');
  const { eventId } = event;
  const again = anEvent('invoice_created', { eventId, header: { invoiceId: OTHER_INVOICE } });
  const events = await counted('event_ledger');
  const both = ingestOne(again, async () => {
    await ingestOne(event);
  });
  await expect(both).rejects.toThrow(/conflict|constraint|duplicate key/i);
  expect(await ingestOne(event)).toBe(0);
  expect(await counted('event_ledger')).toBe(events + 1);
});

test('the first row of an invoice is made by one of two connections, and replaced by one of two', async () => {
  const invoiceId = '22222222-2222-4222-8222-222222222222';
  const invoices = await counted('invoice_state');
  for (const [inner, outer] of [
    ['invoice_created', 'invoice_finalized'],
    ['invoice_finalized', 'invoice_voided'],
  ] as const) {
    // Both read the invoice before the change; the second must not add another row.
    const both = ingestOne(anEvent(outer, { header: { invoiceId } }), async () => {
      await ingestOne(anEvent(inner, { header: { invoiceId } }));
    });
    await expect(both).rejects.toThrow(/conflict|constraint|duplicate key/i);
    expect(await counted('invoice_state')).toBe(invoices + 1);
  }
});

test('a delivery that was refused and is accepted later replaces its line and keeps its key', async () => {
  const event = anEvent('invoice_created', { eventId: 'any text, not only a UUID' });
  const events = await counted('event_ledger');
  expect(await ingestOne({ ...event, verdict: 'quarantined', reason: 'foreign-partner' })).toBe(1);
  expect(await ingestOne(event)).toBe(1);
  expect(await ingestOne(event)).toBe(0);
  expect(await counted('event_ledger')).toBe(events + 1);
});
