import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idsOf, readInvoices } from '../../cli/find-invoices.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { anInvoice, type ReportsFixture, reportsFixture } from '../support/reports-fixture.ts';

const A = '0b8e2a1c-6f2e-4c57-9d0e-0a4c3f4a9a11';
const B = '11111111-1111-1111-1111-111111111111';

describe('readInvoices', () => {
  test.each([
    ['lines, with blank ones and comments', `${A}\r\n\r\n# later\n  ${B.toUpperCase()}  # this too\n`],
    ['CSV with a column of ours', `number,invoice_id,note\nINV-1,${A},"a, b"\nINV-2,${B},\n`],
    ["CSV with the service's header", `Tenant,Invoice ID\n"Two\r\nLines",${A}\nx,${B}\n`],
    ["CSV with a maker's name for it", `acmeInvoiceId\n${A}\n${B}\n`],
    ['JSON lines of objects', `{"invoiceId":"${A}"}\n{"invoice_id":"${B}"}\n`],
    ['JSON lines of texts', `["${A}","${B}"]`],
    ['an array of objects', `[{"acmeInvoiceId":"${A}"},{"invoiceId":"${B}"}]`],
  ])('reads %s', (_form, text) => {
    expect(readInvoices(text).map(({ name }) => name.toLowerCase())).toEqual([A, B]);
  });

  test.each([
    ['a broken JSON line', `{"invoiceId":"${A}"}\n{"invoiceId":\n`, /line 2 is not JSON/],
    ['an object without an id', `{"number":"${A}"}`, /value 1/],
    [
      'a CSV with two columns of ids',
      `invoice_id,Invoice ID\n${A},${B}\n`,
      /line 1 has 2 columns for the id/,
    ],
    ['a CSV row without an id', `number,invoice_id\nINV-1,${A}\nINV-2, \n`, /row 2 names no invoice/],
    ['a CSV row with a cell more', `note,invoice_id\na, b,${A}\n`, /the file is not CSV: .*line 2/],
    ['a CSV with semicolons', `number;invoice_id\nINV-1;${A}\n`, /line 1 has no commas/],
  ])('refuses %s and names the place', (_what, text, message) => {
    expect(() => readInvoices(text)).toThrow(message);
  });
});

describe('idsOf', () => {
  let fixture: ReportsFixture;
  let settings: Settings;
  const invoices = ['INV-000041', 'INV-000042', 'TWICE', 'TWICE'].map((number) => anInvoice([], { number }));

  beforeAll(async () => {
    fixture = await reportsFixture(invoices);
    settings = { dataDir: fixture.folder, environment: 'test', warehouse: { kind: 'duckdb' } } as Settings;
  });
  afterAll(() => fixture.remove());

  const find = (...names: readonly string[]) =>
    idsOf(
      settings,
      names.map((name, index) => ({ name, place: `line ${index + 1}` })),
    );

  test('looks up a number and opens nothing for ids', async () => {
    expect(await find('INV-000042', B.toUpperCase(), B)).toEqual([invoices[1]?.id, B]);
    const nowhere = { dataDir: '/nowhere' } as Settings;
    expect(await idsOf(nowhere, [{ name: A, place: null }])).toEqual([A]);
  });

  test('names the place of an unknown number and the nearest one', async () => {
    await expect(find(A, 'INV-000043')).rejects.toMatchObject({
      exitCode: 3,
      message: 'line 2: no invoice has the id or number INV-000043',
      hint: 'did you mean INV-000041 or INV-000042?',
    });
    await expect(find('something else')).rejects.toMatchObject({
      exitCode: 3,
      hint: expect.stringMatching(/by its id/),
    });
  });

  test('refuses a number of several invoices', async () => {
    await expect(find('TWICE')).rejects.toMatchObject({
      exitCode: 2,
      subject: expect.stringContaining(', '),
    });
  });
});
