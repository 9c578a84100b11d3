import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CSV_HEADERS } from '../../../lib/wire/csv-file.ts';
import { readCount, readDecimal } from '../../../lib/wire/lenient-values.ts';
import {
  aCsv,
  anEvent,
  archiveCsv,
  aWarehouse,
  HEADER_BYTES,
  INVOICE,
  loadArchived,
  loadCsv,
  sha256,
  type TestWarehouse,
} from '../support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

const shipments = (columns = '*'): Promise<Record<string, unknown>[]> =>
  t.query(`select ${columns} from shipments order by row_number`);

describe('load', () => {
  test('stores every cell unchanged and money to the last digit', async () => {
    const bytes = aCsv([
      { 'Billing Cost': '-0.0001', Origin: '', 'Billable Weight': '', 'Billable Weight Unit': '' },
      { 'Billing Cost': '99999999999999.9999', Tenant: ' spaced ', 'Service Level': '' },
    ]);
    const outcome = await loadCsv(t, bytes);
    expect(outcome).toMatchObject({
      outcome: 'loaded',
      version: 1,
      shipments: 2,
      billingCost: '99999999999999.9998',
      currencyCode: 'USD',
      proof: 'announced',
      discrepancies: [],
    });
    expect(
      await shipments('row_number, tenant, origin, billing_cost, billable_weight, service_level'),
    ).toEqual([
      {
        row_number: 1,
        tenant: 'Acme, "Inc."',
        origin: null,
        billing_cost: '-0.0001',
        billable_weight: null,
        service_level: 'Ground\r\nresidential',
      },
      {
        row_number: 2,
        tenant: ' spaced ',
        origin: '00501',
        billing_cost: '99999999999999.9999',
        billable_weight: '2.5000',
        service_level: null,
      },
    ]);
  });

  test('loads a file once when it is requested several times at once', async () => {
    const file = await archiveCsv(t, aCsv());
    const outcomes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => loadArchived(t, file.sha256)));
    const found = outcomes.map(({ outcome }) => outcome).sort();
    expect(found).toEqual([...Array(5).fill('already_loaded'), 'loaded']);
    expect(await shipments('row_number')).toHaveLength(1);
  });

  test('refuses a file without a final line end when nothing proves it', async () => {
    const bytes = aCsv().subarray(0, -2);
    const unproved = await loadCsv(t, bytes, { announcedSha256: null, source: 'file' });
    expect(unproved).toMatchObject({ outcome: 'rejected', findings: [{ rule: 'no-final-line-end' }] });
    expect(await loadCsv(t, bytes)).toMatchObject({
      outcome: 'loaded',
      discrepancies: [{ rule: 'no-final-line-end' }],
    });
  });

  test('lists an invoice whose header states more shipments than 32 bits hold', async () => {
    const header = { totalTransactionCount: Number.MAX_SAFE_INTEGER };
    const event = anEvent('invoice_created', { header });
    await t.record([event]);
    expect(await t.query('select stated_shipments::varchar as stated from invoices')).toEqual([
      { stated: `${header.totalTransactionCount}` },
    ]);
    expect(await t.drift()).toEqual([]);
  });

  test.each([
    ['a total above DECIMAL(18,4)', '123456789012345', '123456789012345', 'total-amount'],
    ['a total of 400 digits', `1${'0'.repeat(400)}`, '9'.repeat(64), 'total-amount'],
    ['a total with an exponent', '1e20', '100000000000000000000', 'total-amount'],
  ])('contradicts its file when the header states %s', async (_, stated, text, rule) => {
    const header = { invoiceTotalAmount: readDecimal(stated) ?? '' };
    const bytes = aCsv();
    await t.record([anEvent('invoice_finalized', { header, fileHashSha256: sha256(bytes) })]);
    await loadCsv(t, bytes);
    const [invoice] = await t.query('select stated_total_text, discrepancy_rules from invoices');
    expect(invoice).toMatchObject({
      stated_total_text: text,
      discrepancy_rules: expect.stringContaining(rule),
    });
    const shown = await t.query('select count(stated_total_amount)::integer as n from invoices');
    expect(shown).toEqual([{ n: text.length < 30 ? 1 : 0 }]);
  });

  test('reads a count that no column stores as the largest', () => {
    expect([readCount('1e30'), readCount('7'), readCount('7.5')]).toEqual([
      Number.MAX_SAFE_INTEGER,
      7,
      undefined,
    ]);
  });
});

test('reports all findings of a file in order: records, bytes and cells', async () => {
  const ragged = Buffer.from('one,two\r\n');
  const cells = aCsv([{ 'Billing Cost': '1e3' }, { Carrier: 'a\0b' }, { 'Ship Date': '2026-02-30' }]);
  const outcome = await loadCsv(t, Buffer.concat([aCsv(), ragged, cells.subarray(HEADER_BYTES)]));
  expect(outcome).toEqual({
    outcome: 'rejected',
    findingCount: 4,
    findings: [
      // Each record's last field spans two lines.
      {
        line: 4,
        row: 2,
        column: null,
        rule: 'field-count',
        value: `2 fields instead of ${CSV_HEADERS.length}`,
      },
      { line: 5, row: 3, column: 'Billing Cost', rule: 'amount', value: '1e3' },
      { line: 7, row: 4, column: 'Carrier', rule: 'nul', value: 'a\\u0000' },
      { line: 9, row: 5, column: 'Ship Date', rule: 'date', value: '2026-02-30' },
    ],
  });
  expect(await shipments()).toEqual([]);
});

describe('voidInvoice', () => {
  test('counts whatever status the payload of its event states', async () => {
    await t.record([anEvent('invoice_voided', { header: { invoiceStatus: 'finalized' } })]);
    expect(await loadCsv(t, aCsv())).toEqual({ outcome: 'voided' });
  });

  test('wins over a concurrent load', async () => {
    const file = await archiveCsv(t, aCsv(Array.from({ length: 2000 }, () => ({}))));
    const [outcome] = await Promise.all([
      loadArchived(t, file.sha256),
      t.record([anEvent('invoice_voided')]),
    ]);
    expect(['loaded', 'voided']).toContain(outcome.outcome);
    expect(await shipments()).toEqual([]);
    expect(await t.warehouse.invoice(INVOICE)).toMatchObject({ state: 'voided' });
  });
});
