import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aCsv, anEvent, archiveCsv, aWarehouse, INVOICE, type TestWarehouse } from '../support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

describe('ingestArchive', () => {
  test('ends in the same row for every permutation with repeats, in the real warehouse', async () => {
    const file = await archiveCsv(t, aCsv());
    const events = [
      anEvent('invoice_created', { eventId: '00000000-0000-4000-8000-000000000001' }),
      anEvent('invoice_finalized', {
        eventId: '00000000-0000-4000-8000-000000000002',
        fileHashSha256: file.sha256,
      }),
      anEvent('invoice_voided', { eventId: '00000000-0000-4000-8000-000000000003' }),
    ] as const;
    const [created, finalized, voided] = events;
    const orders = [
      [created, finalized, voided],
      [voided, finalized, created],
      [finalized, created, finalized, voided],
      [voided, voided, created, finalized],
      [finalized, voided, created],
    ];
    for (const [index, order] of orders.entries()) {
      const invoiceId = `11111111-1111-4111-8111-00000000000${index}`;
      for (const event of order) {
        const ofThis = { ...event, eventId: event.eventId.replace('00000000', `0000000${index}`) };
        const inner = { ...event.event, invoice: { ...event.event?.invoice, invoiceId } };
        await t.record([{ ...ofThis, event: inner as typeof event.event }]);
      }
    }
    const rows = await t.query(
      'select distinct * exclude (invoice_id, event_id) from internal.invoice_state',
    );
    expect(rows).toMatchObject([{ state: 'voided', invoice_number: 'INV-1' }]);
  });

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

describe('markNeedsAttention and clearNeedsAttention', () => {
  test('set a reason and derive the state again', async () => {
    await t.record([anEvent('invoice_finalized')]);
    await t.warehouse.markNeedsAttention({
      invoiceId: INVOICE,
      code: 'not-exported',
      reason: 'The file is missing.',
    });
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      state: 'needs_attention',
      reasonCode: 'not-exported',
      reason: 'The file is missing.',
    });
    await t.warehouse.clearNeedsAttention(INVOICE);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'finalized', reason: null });
  });
});

describe('recordDetails', () => {
  test('fills missing fields and ranks by status', async () => {
    await t.record([anEvent('invoice_created', { header: { invoiceTotalAmount: '1.00' } })]);
    const header = { invoiceTotalAmount: '2.00', invoiceNumber: 'FROM-DETAILS' };
    await t.warehouse.recordDetails({ invoiceId: INVOICE, status: 'finalized', header });
    const stated = 'select state, stated_total_text, invoice_number, partner_tenant_id from invoices';
    expect((await t.query(stated)).map(Object.values)).toEqual([
      ['finalized', '2.00', 'FROM-DETAILS', 'acme'],
    ]);
  });

  test('reports an unknown status until a known one arrives', async () => {
    const discrepancies = () => t.query('select rule, stated from discrepancies');
    await t.warehouse.recordDetails({
      invoiceId: INVOICE,
      status: null,
      unknownStatus: 'REVERSED',
      header: {},
    });
    expect(await discrepancies()).toEqual([{ rule: 'unknown-status', stated: 'REVERSED' }]);
    await t.warehouse.recordDetails({ invoiceId: INVOICE, status: 'finalized', header: {} });
    expect(await discrepancies()).toEqual([]);
  });
});
