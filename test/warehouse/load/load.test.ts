import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CSV_HEADERS } from '../../../lib/wire/csv-file.ts';
import type { InvoiceHeader } from '../../../lib/wire/invoice-event.ts';
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
const storedRows = async (): Promise<unknown> =>
  (await t.query('select count(*)::integer as n from shipment_versions'))[0]?.n;
const WITHOUT_HASH = { announcedSha256: null, source: 'export' } as const;

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

  test('reports line, row, column, rule and value, and loads nothing of the file', async () => {
    const outcome = await loadCsv(
      t,
      aCsv([{}, { 'Billing Cost': '1.23456' }, { 'Ship Date': '2026-02-30' }]),
    );
    expect(outcome).toEqual({
      outcome: 'rejected',
      findingCount: 2,
      findings: [
        // Each record's last field spans two lines.
        { line: 4, row: 2, column: 'Billing Cost', rule: 'amount', value: '1.23456' },
        { line: 6, row: 3, column: 'Ship Date', rule: 'date', value: '2026-02-30' },
      ],
    });
    expect(await shipments()).toEqual([]);
  });

  test('records a differing header as a discrepancy when the hash was announced', async () => {
    const header = { invoiceTotalAmount: '10.00', totalTransactionCount: 2, currencyCode: 'EUR' };
    const announced = { fileHashSha256: sha256(aCsv()), fileSizeBytes: aCsv().length };
    await t.record([anEvent('invoice_finalized', { header, ...announced })]);
    expect(await loadCsv(t, aCsv())).toMatchObject({
      outcome: 'loaded',
      proof: 'announced',
      discrepancies: [
        { rule: 'currency', stated: 'EUR', found: 'USD' },
        { rule: 'shipment-count', stated: '2', found: '1' },
        { rule: 'total-amount', stated: '10.00', found: '9.1600' },
      ],
    });
    expect(
      await t.query(
        'select billing_cost::varchar as cost, currency_code, stated_currency_code from invoices',
      ),
    ).toEqual([{ cost: '9.1600', currency_code: 'USD', stated_currency_code: 'EUR' }]);
  });

  test.each<[string, Partial<InvoiceHeader>, Buffer, object]>([
    [
      'stored with the header as proof',
      { invoiceTotalAmount: '9.160' },
      aCsv(),
      { outcome: 'loaded', proof: 'header' },
    ],
    [
      'refused for a missing row',
      { totalTransactionCount: 2 },
      aCsv(),
      { outcome: 'contradicted', discrepancies: [{ rule: 'shipment-count', stated: '2', found: '1' }] },
    ],
    [
      'refused for a row too many',
      { invoiceTotalAmount: '18.32' },
      aCsv([{}, {}]),
      { outcome: 'contradicted', discrepancies: [{ rule: 'shipment-count', stated: '1', found: '2' }] },
    ],
  ])('a file whose hash was not announced is %s', async (_, header, bytes, outcome) => {
    await t.record([anEvent('invoice_finalized', { header })]);
    expect(await loadCsv(t, bytes, WITHOUT_HASH)).toMatchObject(outcome);
    expect(await storedRows()).toBe('proof' in outcome ? 1 : 0);
  });

  test('marks a load unproved once a header contradicts it', async () => {
    await loadCsv(t, aCsv(), WITHOUT_HASH);
    await t.record([anEvent('invoice_created', { header: { invoiceTotalAmount: '9.1601' } })]);
    expect(await t.query('select proof, discrepancy_rules from invoices')).toEqual([
      { proof: 'unproved', discrepancy_rules: 'total-amount' },
    ]);
  });

  test('marks a load unproved without hash and header, and proved once the event arrives', async () => {
    const bytes = aCsv();
    expect(await loadCsv(t, bytes, { announcedSha256: null, source: 'file' })).toMatchObject({
      proof: 'unproved',
    });
    await t.record([anEvent('invoice_finalized')]);
    expect(await t.query('select proof, state from invoices')).toEqual([
      { proof: 'header', state: 'loaded' },
    ]);
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
