import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Imported, ImportRequest, LoadedRows } from '../../../lib/warehouse-requests.ts';
import type { InvoiceHeader } from '../../../lib/wire/invoice-event.ts';
import type { WebhookStatus } from '../../../lib/wire/names.ts';
import type { ImportDeps } from '../../../warehouse/import/import-files.ts';
import { aCsv, anEvent, aWarehouse, INVOICE, loadCsv, sha256, type TestWarehouse } from '../support.ts';
import { importCsv, importDeps } from './support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

type Details = Pick<ImportDeps, 'lookUp'>;

const imported = (
  bytes: Buffer,
  request: Partial<ImportRequest> = {},
  details: Details = {},
): Promise<Imported> => importCsv(t, bytes, { ...request, ...details });

describe('importFile', () => {
  test('reads the invoice id from the file and marks it unproved without a header', async () => {
    const bytes = aCsv();
    expect(await imported(bytes)).toMatchObject({
      invoiceId: INVOICE,
      sha256: sha256(bytes),
      records: 1,
      outcome: { outcome: 'loaded', proof: 'unproved' },
    });
    expect(await t.query('select file_source, came_from, is_current from files')).toEqual([
      { file_source: 'file', came_from: 'march invoice.csv', is_current: true },
    ]);
  });

  test('proves the file by the header from the service', async () => {
    const result = await imported(
      aCsv(),
      {},
      {
        lookUp: async () => ({
          status: 'finalized',
          header: { invoiceTotalAmount: '9.16', totalTransactionCount: 1, currencyCode: 'USD' },
        }),
      },
    );
    expect(result.outcome).toMatchObject({ outcome: 'loaded', proof: 'header' });
  });

  test('refuses a file of another invoice than the named one', async () => {
    const other = '22222222-2222-4222-8222-222222222222';
    expect(await imported(aCsv(), { invoiceId: other })).toMatchObject({
      outcome: { outcome: 'rejected', findings: [{ line: 2, rule: 'invoice-id', value: INVOICE }] },
    });
  });

  test.each([
    ['an empty file', Buffer.alloc(0)],
    ['a header and nothing else', aCsv().subarray(0, aCsv().indexOf('\r\n') + 2)],
    ['an invoice id that is none', aCsv([{ 'Invoice ID': 'march' }])],
  ])('refuses %s', async (_name, bytes) => {
    expect(await imported(bytes)).toMatchObject({ invoiceId: null, outcome: { outcome: 'rejected' } });
  });

  test('reports which version counts when an older file is imported again', async () => {
    const [first, second] = [aCsv(), aCsv([{}, {}])];
    await imported(first);
    await imported(second);
    const outrankedBy = { version: 2, sha256: sha256(second), proof: 'later' };
    const again = { outcome: 'already_loaded', version: 1, outrankedBy };
    expect((await imported(first)).outcome).toMatchObject(again);
    expect((await imported(second)).outcome).toMatchObject({ version: 2, outrankedBy: null });
  });

  test.each(['announced', 'named', 'chosen'] as const)(
    'reports the %s file that counts beside another one',
    async (proof) => {
      // With the count and the total of the header.
      const [first, second] = [aCsv(), aCsv([{ 'Carrier Zone': '7' }])];
      if (proof === 'announced')
        await t.record([anEvent('invoice_finalized', { fileHashSha256: sha256(first) })]);
      if (proof === 'named') await loadCsv(t, first, { source: 'regenerate' });
      else await imported(first);
      if (proof === 'chosen') {
        await imported(second);
        const by = { invoiceId: INVOICE, by: 'ada', reason: 'confirmed', isDryRun: false };
        await t.warehouse.decide({ kind: 'use-version', version: 1, ...by });
      }
      const outrankedBy = { version: 1, sha256: sha256(first), proof };
      if (proof !== 'chosen')
        expect((await imported(second, { dryRun: true })).outcome).toMatchObject({
          outcome: 'checked',
          outrankedBy,
        });
      expect((await imported(second)).outcome).toMatchObject({ version: 2, outrankedBy });
    },
  );

  test('keeps a refused file in quarantine until another file of the invoice is loaded', async () => {
    const bad = aCsv([{ 'Billing Cost': 'x' }]);
    await imported(bad, { dryRun: true });
    const { quarantine } = await importDeps(t);
    expect(await quarantine.list()).toEqual([]);
    await imported(bad);
    await imported(bad);
    expect(await quarantine.list()).toMatchObject([
      {
        ...{ kind: 'file', code: 'csv-rejected', invoiceId: INVOICE, findingCount: 1 },
        ...{ sha256: sha256(bad), sizeBytes: bad.length },
      },
    ]);
    await imported(aCsv());
    expect(await quarantine.list()).toEqual([]);
  });
});

describe('a dry run', () => {
  const lookUp = (header: Partial<InvoiceHeader>, status: WebhookStatus = 'finalized') => ({
    lookUp: async () => ({ status, header }),
  });
  const cut = aCsv().subarray(0, -2);

  test.each<[string, Buffer, Details]>([
    ['two currencies', aCsv([{}, { 'Currency Code': 'EUR' }]), {}],
    ['a bad cell', aCsv([{ 'Billing Cost': 'x' }]), {}],
    ['bad bytes and a bad cell', Buffer.concat([aCsv([{ Carrier: '' }]), Buffer.from('a,b\r\n')]), {}],
    ['a last line without proof', cut, {}],
    ['a proof by the header', cut, lookUp({ invoiceTotalAmount: '9.16', totalTransactionCount: 1 })],
    ['another total than the service states', aCsv(), lookUp({ invoiceTotalAmount: '9.17' })],
    ['an invoice that the service has voided', aCsv(), lookUp({}, 'voided')],
  ])('has the outcome of the import, and writes nothing: %s', async (_, bytes, deps) => {
    const checked = await imported(bytes, { dryRun: true }, deps);
    expect(await t.warehouse.invoices()).toEqual([]);
    expect(await t.archive.file(checked.sha256)).toBeNull();
    const { outcome, ...rest } = await imported(bytes, {}, deps);
    const expected = outcome.outcome === 'loaded' ? { ...outcome, outcome: 'checked' } : outcome;
    const {
      loadId: _load,
      version: _version,
      ...reported
    } = expected as typeof expected & Partial<LoadedRows>;
    expect(checked).toEqual({ ...rest, outcome: reported });
  });

  test('compares the file with the known invoice', async () => {
    await t.record([anEvent('invoice_finalized')]);
    const two = aCsv([{}, {}]);
    const checked = await imported(two, { dryRun: true });
    expect(checked.outcome).toMatchObject({ outcome: 'contradicted' });
    expect(checked).toEqual(await imported(two));
    await imported(aCsv());
    expect(await imported(aCsv(), { dryRun: true })).toMatchObject({
      outcome: { outcome: 'already_loaded', version: 1 },
    });
    await t.record([anEvent('invoice_voided')]);
    expect(await imported(aCsv(), { dryRun: true })).toMatchObject({ outcome: { outcome: 'voided' } });
  });
});
