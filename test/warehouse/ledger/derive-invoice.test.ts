/** The row of an invoice follows from its lines (spec 6; created < finalized < voided); its histories are drawn in histories.test.ts. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDelivery } from '../../../lib/wire/parse-delivery.ts';
import { deriveInvoice } from '../../../warehouse/ledger/derive-invoice.ts';
import { type Evidence, HEADER_CELLS, type InvoiceLines } from '../../../warehouse/ledger/invoice-lines.ts';
import { eventLine } from '../../../warehouse/ledger/ledger-lines.ts';

const at = (minute: number): string => `2026-03-01T00:${`${minute}`.padStart(2, '0')}:00.000Z`;

function evidence(type: string, minute: number, cells: Partial<Evidence> = {}): Evidence {
  return {
    recorded_at: at(minute),
    event_time: at(minute),
    entry: null,
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

describe('deriveInvoice', () => {
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
    // A service that stores its files encoded announces hash and size of the encoded bytes.
    const encoded = [{ ...load(1, 4, 'b'), encoded_sha256: 'a' }];
    expect(found({ evidence: [announced(1, 'a', 10)], loads: encoded, attention: [] })).toEqual([]);
    expect(found({ evidence: [announced(1, 'c', 1)], loads: encoded, attention: [] })).toHaveLength(1);
  });

  const [TENANT, PARTNER, OTHER] = [1, 2, 3].map((n) => `${n}2222222-2222-4222-8222-222222222222`);
  const STATED = {
    ...{ serviceTenantId: TENANT, partnerTenantId: 'T-9', partnerInvoiceId: 'PI-1', invoiceNumber: 'INV-1' },
    ...{ invoiceStartDate: '2026-10-01', invoiceEndDate: '2026-10-31', invoiceDate: '2026-11-01' },
    ...{ invoiceDueDate: '2026-11-16', currencyCode: 'USD', totalTransactionCount: 3 },
    ...{ invoiceTotalAmount: 10.5, partnerId: PARTNER },
  };
  const FIELDS = Object.keys(STATED);
  const TYPES = ['invoice_created', 'invoice_finalized', 'invoice_voided'];

  /** The header of an invoice whose events state only the named fields. */
  function headerOf(events: readonly (readonly string[])[], changes: object = {}) {
    const lines = events.map((fields, n): Evidence => {
      const { partnerId, ...payload } = Object.fromEntries(
        Object.entries({ ...STATED, ...changes }).filter(([field]) => fields.includes(field)),
      );
      const metadata = { eventId: `e-${n}`, eventType: TYPES[n % 3], partnerId };
      const body = { metadata, payload: { ...payload, serviceInvoiceId: OTHER } };
      const options = { wirePrefix: 'auto', partnerIds: [OTHER ?? '', PARTNER ?? ''] };
      const parsed = parseDelivery(Buffer.from(JSON.stringify(body)), options);
      const event = parsed.kind === 'event' ? parsed.event : null;
      const received = { receivedAt: at(n), verdict: 'accepted', reason: null, envelope: '' } as const;
      const line = eventLine({ ...received, eventId: `e-${n}`, event });
      return { ...line, entry: null, recorded_at: at(n), event_time: at(n) } as unknown as Evidence;
    });
    const row = deriveInvoice({ evidence: lines, loads: [], attention: [] })?.row;
    return Object.fromEntries(([...HEADER_CELLS, 'partner_id'] as const).map((cell) => [cell, row?.[cell]]));
  }

  test('has each field that an event states, whatever the others leave out', () => {
    const events = fc.array(fc.subarray(FIELDS), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(events, fc.nat(), (drawn, whole) => {
        const all = [...drawn.slice(0, whole % drawn.length), FIELDS, ...drawn.slice(whole % drawn.length)];
        expect(headerOf(all)).toEqual(headerOf([FIELDS]));
      }),
      { numRuns: 300 },
    );
    expect(Object.values(headerOf([FIELDS]))).not.toContain(null);
  });

  test.each([
    ['no event names a tenant', ['invoiceNumber'], {}, 'partner'],
    ['an event says null', ['serviceTenantId', 'partnerTenantId'], { serviceTenantId: null }, 'partner'],
    ['the id cannot be read', ['serviceTenantId'], { serviceTenantId: 'acme' }, null],
    ['only the reference of the partner is known', ['partnerTenantId'], {}, null],
  ])('is on partner level or unknown when %s', (_, fields, changes, level) => {
    expect(headerOf([fields, ['invoiceNumber']], changes)).toMatchObject({ invoice_level: level });
  });

  test('has an unknown level while only answers of the service are silent', () => {
    const silent = { invoice_level: null, tenant_id: null, partner_tenant_id: null };
    const answer = evidence('', 1, { ...silent, event_id: null, event_type: null, entry: 1 });
    const levelOf = (...lines: readonly Evidence[]) =>
      deriveInvoice({ evidence: lines, loads: [], attention: [] })?.row.invoice_level;
    expect([levelOf(answer), levelOf(answer, evidence('invoice_created', 2, silent))]).toEqual([
      null,
      'partner',
    ]);
  });
});
