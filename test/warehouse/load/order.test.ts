/** Whatever order things are heard in, an invoice ends in the same row (spec 6; the lattice created < finalized < voided). */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveInvoice } from '../../../warehouse/ledger/derive-invoice.ts';
import type { Evidence, InvoiceLines } from '../../../warehouse/ledger/invoice-lines.ts';
import { aCsv, anEvent, archiveCsv, ask, aWarehouse, INVOICE } from '../support.ts';

const at = (minute: number): string => `2026-03-01T00:${`${minute}`.padStart(2, '0')}:00.000Z`;

function evidence(type: string, minute: number, cells: Partial<Evidence> = {}): Evidence {
  return {
    recorded_at: at(minute),
    event_time: at(minute),
    event_id: `e-${type}-${minute}`,
    event_type: type,
    invoice_status: { invoice_created: 'draft', invoice_finalized: 'finalized' }[type] ?? 'voided',
    partner_id: 'p',
    partner_invoice_id: null,
    invoice_level: 'tenant',
    tenant_id: 't',
    partner_tenant_id: null,
    invoice_number: `N-${type}`,
    invoice_start_date: null,
    invoice_end_date: null,
    invoice_date: null,
    invoice_due_date: null,
    currency_code: 'USD',
    stated_total: '1.00',
    stated_shipments: 1,
    announced_sha256: null,
    announced_size_bytes: null,
    ...cells,
  };
}

const load = (loadId: number, minute: number, sha: string): InvoiceLines['loads'][number] => ({
  load_id: loadId,
  version: loadId,
  file_source: 'event',
  file_sha256: sha,
  announced_sha256: sha,
  encoded_sha256: null,
  is_denied: false,
  is_damaged: false,
  file_size_bytes: 1,
  shipments: 1,
  billing_cost: '1.0000',
  currency_code: 'USD',
  currencies: 'USD',
  first_ship_date: '2026-02-01',
  last_ship_date: '2026-02-01',
  ends_with_line_end: true,
  loaded_at: at(minute),
});

const NOTE = {
  ...{ is_open: true, code: null, reason: null },
  ...{ kind: null, decided_by: null, file_sha256: null, counts_from: null },
} as const;

describe('deriveInvoice', () => {
  test('returns the same state for every order of the same lines', () => {
    const lines: InvoiceLines = {
      evidence: [
        evidence('invoice_created', 1),
        evidence('invoice_finalized', 3, { announced_sha256: 'a' }),
        evidence('invoice_finalized', 2, { announced_sha256: 'b', stated_total: '2.00' }),
        evidence('details', 9, {
          event_id: null,
          event_type: null,
          invoice_status: 'finalized',
          invoice_number: 'D',
        }),
      ],
      loads: [load(1, 4, 'a'), load(2, 5, 'b')],
      attention: [
        { ...NOTE, recorded_at: at(6), code: 'x', reason: 'r' },
        { ...NOTE, recorded_at: at(7), is_open: false },
      ],
    };
    const expected = deriveInvoice(lines);
    expect(expected?.row).toMatchObject({
      state: 'loaded',
      current_load_id: 1,
      // The details spoke last.
      invoice_number: 'D',
      service_status: 'finalized',
      proof: 'hash',
    });
    const shuffled = <T>(of: readonly T[]): fc.Arbitrary<T[]> =>
      fc.shuffledSubarray([...of], { minLength: of.length, maxLength: of.length });
    fc.assert(
      fc.property(
        fc.record({
          evidence: shuffled(lines.evidence),
          loads: shuffled(lines.loads),
          attention: shuffled(lines.attention),
        }),
        (other) => {
          const found = deriveInvoice(other);
          expect(found?.row).toEqual(expected?.row);
        },
      ),
    );
  });

  test('uses the later of event and details', () => {
    const details = (minute: number, cells: Partial<Evidence> = {}) =>
      evidence('details', minute, {
        ...{ event_id: null, event_type: null, invoice_status: 'finalized', stated_total: '95.04' },
        ...cells,
      });
    const finalized = evidence('invoice_finalized', 5, { stated_total: '94.04' });
    const total = (...lines: readonly Evidence[]) =>
      deriveInvoice({ evidence: lines, loads: [], attention: [] })?.row.stated_total;
    expect(total(finalized, details(6))).toBe('95.04');
    expect(total(finalized, details(4))).toBe('94.04');
    expect(total(finalized, details(6, { invoice_status: null }))).toBe('95.04');
    expect(total(evidence('invoice_created', 1), details(6, { invoice_status: null }))).toBe('95.04');
    expect(total(finalized, details(6, { invoice_status: 'draft' }))).toBe('94.04');
    expect(total(finalized, evidence('invoice_voided', 9, { stated_total: '0' }))).toBe('94.04');
  });

  test('compares the file that counts with the newest announcement', () => {
    const announced = (minute: number, hash: string, size: number | null = null) =>
      evidence('invoice_finalized', minute, { announced_sha256: hash, announced_size_bytes: size });
    const found = (lines: InvoiceLines) =>
      deriveInvoice(lines)?.discrepancies.map(({ rule, stated, found, event_id }) => [
        rule,
        stated,
        found,
        event_id,
      ]);
    const loads = [load(1, 4, 'b')];
    expect(found({ evidence: [announced(1, 'b', 1)], loads, attention: [] })).toEqual([]);
    expect(found({ evidence: [announced(1, 'a', 10)], loads, attention: [] })).toEqual([
      ['announced-hash', 'a', 'b', 'e-invoice_finalized-1'],
      ['announced-size', '10', '1', 'e-invoice_finalized-1'],
    ]);
    // A newer announcement takes an older one's place, whichever came first.
    expect(found({ evidence: [announced(2, 'b'), announced(1, 'a')], loads, attention: [] })).toEqual([]);
    expect(found({ evidence: [announced(1, 'b'), announced(2, 'a')], loads, attention: [] })).toHaveLength(1);
    expect(found({ evidence: [announced(1, 'a')], loads: [], attention: [] })).toEqual([]);
    // A service that keeps its files encoded announces hash and size of what it keeps.
    const encoded = [{ ...load(1, 4, 'b'), encoded_sha256: 'a' }];
    expect(found({ evidence: [announced(1, 'a', 10)], loads: encoded, attention: [] })).toEqual([]);
    expect(found({ evidence: [announced(1, 'c', 1)], loads: encoded, attention: [] })).toHaveLength(1);
  });

  test('lets a void win whatever else is known', () => {
    const lines = { evidence: [evidence('invoice_voided', 1)], loads: [load(1, 4, 'a')], attention: [] };
    expect(deriveInvoice(lines)?.row).toMatchObject({
      state: 'voided',
      state_since: at(1),
      current_load_id: 1,
    });
  });

  test('clears the attention with a later load, not with an earlier one', () => {
    const attention = [{ ...NOTE, recorded_at: at(3), code: 'csv-rejected', reason: 'why' }];
    const of = (minute: number): InvoiceLines => ({
      evidence: [evidence('invoice_finalized', 1)],
      loads: [load(1, minute, 'a')],
      attention,
    });
    expect(deriveInvoice(of(4))?.row.state).toBe('loaded');
    expect(deriveInvoice(of(2))?.row).toMatchObject({
      state: 'needs_attention',
      reason_code: 'csv-rejected',
      reason: 'why',
      state_since: at(3),
    });
  });
});

describe('ingestArchive', () => {
  test('ends in the same row for every permutation with repeats, in the real warehouse', async () => {
    const t = await aWarehouse();
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
    const rows: unknown[] = [];
    for (const [index, order] of orders.entries()) {
      const invoiceId = `11111111-1111-4111-8111-00000000000${index}`;
      for (const event of order) {
        const ofThis = { ...event, eventId: event.eventId.replace('00000000', `0000000${index}`) };
        const inner = { ...event.event, invoice: { ...event.event?.invoice, invoiceId } };
        await t.record([{ ...ofThis, event: inner as typeof event.event }]);
      }
      rows.push(await t.warehouse.invoice(invoiceId));
    }
    const comparable = rows.map((row) =>
      JSON.stringify(row).replaceAll(/11111111-1111-4111-8111-00000000000\d/g, 'id'),
    );
    expect(new Set(comparable).size).toBe(1);
    expect(rows[0]).toMatchObject({ state: 'voided', header: { invoiceNumber: 'INV-1' } });
    await t.close();
  });

  test('derives the same row from events recorded at once or late', async () => {
    const t = await aWarehouse();
    const void_ = anEvent('invoice_voided', { receivedAt: '2026-02-28T23:00:00.000Z' });
    const created = anEvent('invoice_created', { receivedAt: '2026-02-28T22:00:00.000Z' });
    const late = anEvent('invoice_finalized', { receivedAt: '2026-02-27T07:00:00.000Z' });
    const others = Array.from({ length: 6 }, (_, i) =>
      anEvent('invoice_created', { header: { invoiceId: `33333333-3333-4333-8333-00000000000${i}` } }),
    );
    // Each event by two at once, who find the other's reading under way.
    await Promise.all([void_, ...others, created, void_, ...others].map((event) => t.record([event])));
    await t.warehouse.markNeedsAttention({ invoiceId: INVOICE, code: 'csv-rejected', reason: 'a reason' });
    await t.record([late]);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      state: 'voided',
      firstSeenAt: late.receivedAt,
    });
    expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
    await t.close();
  });

  test('defers facts that change no invoice when allowed, and no others', async () => {
    const t = await aWarehouse();
    const event = anEvent('invoice_created');
    const { eventId } = event;
    const again = (second: number) =>
      t.archive.putFact({ kind: 'duplicate', at: `2026-03-01T00:00:0${second}.000Z`, eventId });
    const told = async () => {
      const { path } = await t.warehouse.publish();
      const [row] = await ask(path, 'select duplicates from events');
      return row?.duplicates;
    };
    await t.archive.putEvent(event);
    await again(1);
    expect(await t.warehouse.ingestArchive({ deferFacts: true })).toEqual({ events: 1 });
    expect(await told()).toBe('0');
    // One who may wait and one who may not, at the same moment.
    await Promise.all([t.warehouse.ingestArchive({ deferFacts: true }), t.warehouse.ingestArchive()]);
    expect(await told()).toBe('1');
    await again(2);
    await t.archive.putFact({
      ...{ kind: 'details', at: '2026-03-01T00:00:03.000Z', invoiceId: INVOICE },
      ...{ status: 'voided', header: {} },
    });
    await t.warehouse.ingestArchive({ deferFacts: true });
    expect(await told()).toBe('2');
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'voided' });
    await t.close();
  });

  test('keeps a test event in events and out of invoices (spec 6, rule 4)', async () => {
    const t = await aWarehouse();
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
    const { path } = await t.warehouse.publish();
    expect(await ask(path, 'select verdict, duplicates from events order by verdict')).toEqual([
      { verdict: 'accepted', duplicates: '1' },
      { verdict: 'test', duplicates: '0' },
    ]);
    expect(await ask(path, 'select state from invoices')).toEqual([{ state: 'draft' }]);
    await t.close();
  });
});

describe('markNeedsAttention and clearNeedsAttention', () => {
  test('park with a reason and derive the state again', async () => {
    const t = await aWarehouse();
    await t.record([anEvent('invoice_finalized')]);
    await t.warehouse.markNeedsAttention({
      invoiceId: INVOICE,
      code: 'not-exported',
      reason: 'Nobody has the file.',
    });
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      state: 'needs_attention',
      reasonCode: 'not-exported',
      reason: 'Nobody has the file.',
    });
    await t.warehouse.clearNeedsAttention(INVOICE);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'finalized', reason: null });
    await t.close();
  });
});

describe('recordDetails', () => {
  test('fills missing fields and ranks by status', async () => {
    const t = await aWarehouse();
    await t.record([anEvent('invoice_created', { header: { invoiceTotalAmount: '1.00' } })]);
    const header = { invoiceTotalAmount: '2.00', invoiceNumber: 'FROM-DETAILS' };
    await t.warehouse.recordDetails({ invoiceId: INVOICE, status: 'finalized', header });
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({
      state: 'finalized',
      header: { invoiceTotalAmount: '2.00', invoiceNumber: 'FROM-DETAILS', partnerTenantId: 'acme' },
    });
    await t.close();
  });

  test('notes an unknown status until a known one arrives', async () => {
    const t = await aWarehouse();
    const noted = async () =>
      ask((await t.warehouse.publish()).path, 'select rule, stated from discrepancies');
    await t.warehouse.recordDetails({
      invoiceId: INVOICE,
      status: null,
      unknownStatus: 'REVERSED',
      header: {},
    });
    expect(await noted()).toEqual([{ rule: 'unknown-status', stated: 'REVERSED' }]);
    await t.warehouse.recordDetails({ invoiceId: INVOICE, status: 'finalized', header: {} });
    expect(await noted()).toEqual([]);
    await t.close();
  });
});
