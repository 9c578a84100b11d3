/** Ids come in whatever form people have them. */

import { describe, expect, test } from 'vitest';
import { readInvoiceIds } from '../../cli/invoice-ids.js';

const A = '0b8e2a1c-6f2e-4c57-9d0e-0a4c3f4a9a11';
const B = '11111111-1111-1111-1111-111111111111';

describe('readInvoiceIds', () => {
  test.each([
    ['lines, with blank ones and comments', `${A}\r\n\r\n# later\n  ${B.toUpperCase()}  # this too\n`],
    ['CSV with a column of ours', `number,invoice_id,note\nINV-1,${A},"a, b"\nINV-2,${B},\n`],
    ["CSV with the service's header", `Tenant,Invoice ID\n"Two\r\nLines",${A}\nx,${B}\n`],
    ["CSV with a maker's name for it", `acmeInvoiceId\n${A}\n${B}\n`],
    ['JSON lines of objects', `{"invoiceId":"${A}"}\n{"invoice_id":"${B}"}\n`],
    ['JSON lines of texts', `["${A}","${B}"]`],
    ['an array of objects', `[{"acmeInvoiceId":"${A}"},{"invoiceId":"${B}"}]`],
  ])('reads %s', (_form, text) => {
    expect(readInvoiceIds(text)).toEqual([A, B]);
  });

  test('is empty for an empty text', () => {
    expect(readInvoiceIds('\uFEFF \n')).toEqual([]);
  });

  test.each([
    ['a line that is no id', `${A}\nINV-000042\n`, /line 2/],
    ['a broken JSON line', `{"invoiceId":"${A}"}\n{"invoiceId":\n`, /line 2 is not JSON/],
    ['an object without an id', `{"number":"${A}"}`, /value 1/],
  ])('refuses %s and says where', (_what, text, message) => {
    expect(() => readInvoiceIds(text)).toThrow(message);
  });
});
