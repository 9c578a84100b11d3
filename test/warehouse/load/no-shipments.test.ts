/** An invoice without shipments: its file is a header and nothing else, as that of a failed export. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  aCsv,
  anEvent,
  archiveCsv,
  aWarehouse,
  HEADER_BYTES,
  INVOICE,
  loadCsv,
  sha256,
  type TestWarehouse,
} from '../support.ts';

const HEADER_ONLY = aCsv().subarray(0, HEADER_BYTES);
const NOTHING_BILLED = { totalTransactionCount: 0, invoiceTotalAmount: '0.00', currencyCode: 'EUR' };

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

async function load(stated: object | null, announcedSha256 = sha256(HEADER_ONLY)) {
  const announced = { fileHashSha256: sha256(HEADER_ONLY), fileSizeBytes: HEADER_ONLY.length };
  if (stated !== null) await t.record([anEvent('invoice_finalized', { header: stated, ...announced })]);
  return loadCsv(t, HEADER_ONLY, { announcedSha256 });
}

test('is loaded when count, total and hash agree, and survives verify and rebuild', async () => {
  expect(await load(NOTHING_BILLED)).toMatchObject({
    ...{ outcome: 'loaded', shipments: 0, billingCost: '0.0000', currencyCode: 'EUR', proof: 'announced' },
    discrepancies: [],
  });
  expect(await t.drift()).toEqual([]);
  const query = `select state, shipments::integer as n, billing_cost::varchar as cost, currency_code from invoices`;
  const before = await t.query(query);
  expect(before).toEqual([{ state: 'loaded', n: 0, cost: '0.0000', currency_code: 'EUR' }]);
  expect((await t.rebuild()).losses).toEqual([]);
  expect(await t.query(query)).toEqual(before);
});

test.each([
  ['no count was stated', null, undefined],
  ['another count was stated', { ...NOTHING_BILLED, totalTransactionCount: 1 }, undefined],
  ['another total was stated', { ...NOTHING_BILLED, invoiceTotalAmount: '0.01' }, undefined],
  ['another hash was announced', NOTHING_BILLED, 'f'.repeat(64)],
])('is refused when %s', async (_, stated, announced) => {
  expect(await load(stated, announced)).toMatchObject({
    outcome: 'rejected',
    findings: [{ rule: 'no-rows' }],
  });
});

test('has the same result in a dry run', async () => {
  const file = await archiveCsv(t, HEADER_ONLY);
  const request = { invoiceId: INVOICE, file, csvPath: await t.archive.localPath(file.sha256) };
  expect(await t.warehouse.check({ ...request, details: null })).toMatchObject({ outcome: 'rejected' });
  const details = { status: 'finalized', header: NOTHING_BILLED } as const;
  expect(await t.warehouse.check({ ...request, details })).toMatchObject({
    outcome: 'checked',
    shipments: 0,
  });
});
