import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { anEvent, aWarehouse, INVOICE, type TestWarehouse } from '../support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

describe('ingestArchive', () => {
  test('derives the same row from events recorded at once or late', async () => {
    const void_ = anEvent('invoice_voided', { receivedAt: '2026-02-28T23:00:00.000Z' });
    const created = anEvent('invoice_created', { receivedAt: '2026-02-28T22:00:00.000Z' });
    const late = anEvent('invoice_finalized', { receivedAt: '2026-02-27T07:00:00.000Z' });
    const others = Array.from({ length: 6 }, (_, i) =>
      anEvent('invoice_created', { header: { invoiceId: `33333333-3333-4333-8333-00000000000${i}` } }),
    );
    // Each event by two calls at once, which share an ingestion.
    await Promise.all([void_, ...others, created, void_, ...others].map((event) => t.record([event])));
    await t.warehouse.markNeedsAttention({ invoiceId: INVOICE, code: 'csv-rejected', reason: 'a reason' });
    await t.record([late]);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'voided' });
    const seen = "select epoch_ms(first_seen_at)::double as at from invoices where state = 'voided'";
    expect(await t.query(seen)).toEqual([{ at: Date.parse(late.receivedAt) }]);
    expect(await t.drift()).toEqual([]);
  });

  test('defers facts that change no invoice when allowed, and no others', async () => {
    const event = anEvent('invoice_created');
    const { eventId } = event;
    const again = (second: number) =>
      t.archive.putFact({ kind: 'duplicate', at: `2026-03-01T00:00:0${second}.000Z`, eventId });
    const duplicates = async () => (await t.query('select duplicates from events'))[0]?.duplicates;
    await t.archive.putEvent(event);
    await again(1);
    expect(await t.warehouse.ingestArchive({ deferFacts: true })).toEqual({ events: 1 });
    expect(await duplicates()).toBe('0');
    // A call that may defer and one that may not, at the same moment.
    await Promise.all([t.warehouse.ingestArchive({ deferFacts: true }), t.warehouse.ingestArchive()]);
    expect(await duplicates()).toBe('1');
    await again(2);
    await t.archive.putFact({
      ...{ kind: 'details', at: '2026-03-01T00:00:03.000Z', invoiceId: INVOICE },
      ...{ status: 'voided', header: {} },
    });
    await t.warehouse.ingestArchive({ deferFacts: true });
    expect(await duplicates()).toBe('2');
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'voided' });
  });

  test('has an event that is accepted while its refusal is read', async () => {
    const accepted = anEvent('invoice_created');
    const refused = { ...accepted, verdict: 'quarantined', event: null } as const;
    const events = async function* () {
      for (const [at, event] of [refused, accepted].entries()) yield { event, cursor: `${at}` };
    };
    Object.assign(t.archive, { events });
    expect(await t.warehouse.ingestArchive()).toEqual({ events: 1 });
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'draft' });
  });

  test('keeps a test event in events and out of invoices (spec 6, rule 4)', async () => {
    await t.archive.putEvent(anEvent('invoice_finalized', { verdict: 'test' }));
    const duplicate = anEvent('invoice_created', {
      header: { invoiceId: '22222222-2222-4222-8222-222222222222' },
    });
    await t.archive.putEvent(duplicate);
    await t.archive.putFact({
      kind: 'duplicate',
      at: '2026-03-01T00:00:02.000Z',
      eventId: duplicate.eventId,
    });
    expect(await t.warehouse.ingestArchive()).toEqual({ events: 2 });
    expect(await t.warehouse.ingestArchive()).toEqual({ events: 0 });
    expect(await t.warehouse.invoice(INVOICE)).toBeNull();
    expect(await t.query('select verdict, duplicates from events order by verdict')).toEqual([
      { verdict: 'accepted', duplicates: '1' },
      { verdict: 'test', duplicates: '0' },
    ]);
    expect(await t.query('select state from invoices')).toEqual([{ state: 'draft' }]);
  });
});

describe('recordDetails', () => {
  test('reports an unknown status until a known one arrives', async () => {
    const discrepancies = () => t.query('select rule, stated from discrepancies');
    await t.record([anEvent('invoice_created')]);
    await t.warehouse.recordDetails({
      invoiceId: INVOICE,
      status: null,
      unknownStatus: 'REVERSED',
      header: {},
    });
    expect(await discrepancies()).toEqual([{ rule: 'unknown-status', stated: 'REVERSED' }]);
    // An event does not take it away, whichever of the ledgers has the higher numbers.
    await t.record([anEvent('invoice_created')]);
    expect(await discrepancies()).toHaveLength(1);
    await t.warehouse.recordDetails({ invoiceId: INVOICE, status: 'finalized', header: {} });
    expect(await discrepancies()).toEqual([]);
  });
});
