/** An invoice without shipments: its file is a header and nothing else, which is what a failed export looks like too. */

import { afterEach, beforeEach, expect, test } from 'vitest';
import { rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import {
  aCsv,
  anEvent,
  archiveCsv,
  ask,
  aWarehouse,
  HEADER_BYTES,
  INVOICE,
  loadArchived,
  silent,
  type TestWarehouse,
} from '../support.ts';

const HEADER_ONLY = aCsv().subarray(0, HEADER_BYTES);
const NOTHING_BILLED = { totalTransactionCount: 0, invoiceTotalAmount: '0.00', currencyCode: 'EUR' };

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

/** @param stated null: nobody announced the invoice */
async function load(stated: object | null, announcedSha256?: string | null) {
  const { sha256 } = await archiveCsv(t, HEADER_ONLY);
  if (stated !== null) {
    const fileSizeBytes = HEADER_ONLY.length;
    const event = anEvent('invoice_finalized', { header: stated, fileHashSha256: sha256, fileSizeBytes });
    await t.record([event]);
  }
  return loadArchived(t, sha256, announcedSha256 === undefined ? {} : { announcedSha256 });
}

test('is loaded when count, total and hash agree, and survives verify and rebuild', async () => {
  expect(await load(NOTHING_BILLED)).toMatchObject({
    ...{ outcome: 'loaded', shipments: 0, billingCost: '0.0000', currencyCode: 'EUR', proof: 'hash' },
    discrepancies: [],
  });
  expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  const question = `select state, shipments::integer as n, billing_cost::varchar as cost, currency_code from invoices`;
  const { path } = await t.warehouse.publish();
  const before = await ask(path, question);
  expect(before).toEqual([{ state: 'loaded', n: 0, cost: '0.0000', currency_code: 'EUR' }]);
  await t.warehouse.close();
  const made = await rebuildWarehouse({ settings: t.settings, archive: t.archive, log: silent });
  expect(made.losses).toEqual([]);
  expect(await ask(path, question)).toEqual(before);
  await t.reopen();
});

test.each([
  ['nobody stated what the invoice holds', null, undefined],
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
  const asked = { invoiceId: INVOICE, file, csvPath: await t.archive.localPath(file.sha256) };
  expect(await t.warehouse.check({ ...asked, details: null })).toMatchObject({ outcome: 'rejected' });
  const details = { status: 'finalized', header: NOTHING_BILLED } as const;
  expect(await t.warehouse.check({ ...asked, details })).toMatchObject({ outcome: 'checked', shipments: 0 });
});
