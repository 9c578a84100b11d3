/** The row of an invoice follows from its lines (spec 6; created < finalized < voided); its histories are drawn in histories.test.ts. */

import { describe, expect, test } from 'vitest';
import { deriveInvoice } from '../../../warehouse/ledger/derive-invoice.ts';
import type { Evidence, InvoiceLines } from '../../../warehouse/ledger/invoice-lines.ts';

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

const LINE = {
  ...{ is_open: true, code: null, reason: null },
  ...{ kind: null, decided_by: null, file_sha256: null, after_version: null, names: null },
} as const;

describe('deriveInvoice', () => {
  test('uses the last answer of the service, else the newest event', () => {
    const details = (minute: number, cells: Partial<Evidence> = {}) =>
      evidence('details', minute, {
        ...{ event_id: null, event_type: null, invoice_status: 'finalized', stated_total: '95.04' },
        entry: minute,
        ...cells,
      });
    const finalized = evidence('invoice_finalized', 5, { stated_total: '94.04' });
    const total = (...lines: readonly Evidence[]) =>
      deriveInvoice({ evidence: lines, loads: [], attention: [] })?.row.stated_total;
    expect(total(finalized, details(6))).toBe('95.04');
    expect(total(finalized, details(4))).toBe('95.04');
    expect(total(details(7, { stated_total: '96.04', recorded_at: at(2) }), details(6))).toBe('96.04');
    expect(total(finalized, evidence('invoice_finalized', 6, { stated_total: '1.00' }))).toBe('1.00');
    expect(total(finalized, details(6, { invoice_status: null }))).toBe('95.04');
    expect(total(evidence('invoice_created', 1), details(6, { invoice_status: null }))).toBe('95.04');
    expect(total(finalized, details(6, { invoice_status: 'draft' }))).toBe('94.04');
    expect(total(finalized, evidence('invoice_voided', 9, { stated_total: '0' }))).toBe('94.04');
  });

  test('takes the event received later for the newer one of two with the same time, whatever their ids are', () => {
    const [first, second] = ['z', 'a'].map((id, n) =>
      evidence('invoice_finalized', 5 + n, {
        ...{ event_id: id, event_time: at(5), announced_sha256: id, stated_total: `${n}.00` },
      }),
    ) as [Evidence, Evidence];
    const loads = [load(1, 7, 'a'), load(2, 8, 'z')];
    for (const lines of [
      [first, second],
      [second, first],
    ]) {
      const row = deriveInvoice({ evidence: lines, loads, attention: [] })?.row;
      expect(row).toMatchObject({ current_load_id: 1, stated_total: '1.00', event_id: 'a' });
    }
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
    // A service that stores its files encoded announces hash and size of the encoded bytes.
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
    const attention = [{ ...LINE, recorded_at: at(3), code: 'csv-rejected', reason: 'why' }];
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
