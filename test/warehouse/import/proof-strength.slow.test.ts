import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Imported, LoadRequest } from '../../../lib/warehouse-requests.ts';
import { aCsv, anEvent, aWarehouse, INVOICE, loadCsv, sha256, type TestWarehouse } from '../support.ts';
import { importCsv } from './support.ts';

let t: TestWarehouse;
beforeEach(async () => {
  t = await aWarehouse();
});
afterEach(() => t.close());

const GENUINE = aCsv([{ 'Billing Cost': '4' }, { 'Billing Cost': '6' }]);
/** Count and sum are those of the genuine file. */
const COPY = aCsv([{ 'Billing Cost': '9' }, { 'Billing Cost': '1' }]);
const HEADER = { invoiceTotalAmount: '10', totalTransactionCount: 2, currencyCode: 'USD' };
const SERVICE = async () => ({
  ...{ status: 'finalized' as const, header: HEADER },
  hash: { sha256: sha256(GENUINE), sizeBytes: GENUINE.length },
});
const announced = () =>
  anEvent('invoice_finalized', {
    ...{ header: HEADER, fileHashSha256: sha256(GENUINE), fileSizeBytes: GENUINE.length },
  });

const imported = async (
  bytes: Buffer,
  request: Parameters<typeof importCsv>[2] = {},
): Promise<Imported['outcome']> => (await importCsv(t, bytes, request)).outcome;

const choose = (version: number) =>
  t.warehouse.decide({
    ...{ kind: 'use-version', version, invoiceId: INVOICE },
    ...{ by: 'ada', reason: 'the service confirmed it by phone', isDryRun: false },
  });

/** The file that totals see, its proof and what it contradicts; the same at any later instant. */
async function counting() {
  const [invoice] = await t.query(
    'select state, version, file_sha256, proof, discrepancy_rules from invoices',
  );
  const known = await t.query(
    "select distinct file_sha256 from shipments_as_known_on(timestamp '2027-01-01')",
  );
  expect(known.map((row) => row.file_sha256)).toEqual(
    invoice?.file_sha256 === null ? [] : [invoice?.file_sha256],
  );
  return invoice;
}

async function expectRebuiltEqual(): Promise<void> {
  const query = `select i.*, l.load_id as each_load, l.version as each_version, l.is_denied, l.is_damaged
    from internal.invoice_state as i left join internal.loads as l on l.invoice_id = i.invoice_id order by each_load`;
  const before = await t.query(query);
  await t.rebuild();
  expect(await t.query(query)).toEqual(before);
  expect(await t.drift()).toEqual([]);
}

describe('a copy of a file whose hash the service named', () => {
  test.each<['announced' | 'named', Partial<LoadRequest>]>([
    ['announced', {}],
    ['named', { source: 'regenerate' }],
  ])('is kept and does not count when the hash was %s', async (proof, request) => {
    if (proof === 'announced') await t.record([announced()]);
    await loadCsv(t, GENUINE, request);
    const outrankedBy = { version: 1, sha256: sha256(GENUINE), proof };
    expect(await imported(COPY, { dryRun: true })).toMatchObject({ outcome: 'checked', outrankedBy });
    expect(await imported(COPY)).toMatchObject({ outcome: 'loaded', version: 2, outrankedBy });
    expect(await imported(COPY)).toMatchObject({ outcome: 'already_loaded', version: 2, outrankedBy });
    expect(await counting()).toMatchObject({
      version: 1,
      proof: proof === 'named' ? 'hash' : proof,
      discrepancy_rules: null,
    });
    expect(await choose(2)).toMatchObject({ outcome: 'done' });
    expect(await counting()).toMatchObject({
      version: 2,
      discrepancy_rules: expect.stringContaining('announced-hash'),
    });
    await expectRebuiltEqual();
    // Importing the genuine file again reports which version counts and why.
    const chosen = { version: 2, sha256: sha256(COPY), proof: 'chosen' };
    expect(await imported(GENUINE)).toMatchObject({ version: 1, outrankedBy: chosen });
    expect(await choose(1)).toMatchObject({ outcome: 'done' });
    expect(await counting()).toMatchObject({
      version: 1,
      proof: proof === 'named' ? 'hash' : proof,
      discrepancy_rules: null,
    });
    await expectRebuiltEqual();
  });

  test('does not count when it is the only file, and the genuine file does', async () => {
    const outrankedBy = { version: null, sha256: sha256(GENUINE), proof: 'named' };
    expect(await imported(COPY, { lookUp: SERVICE, dryRun: true })).toMatchObject({ outrankedBy });
    expect(await imported(COPY, { lookUp: SERVICE })).toMatchObject({ version: 1, outrankedBy });
    expect(await counting()).toMatchObject({ state: 'finalized', version: null });
    await expectRebuiltEqual();
    expect(await imported(GENUINE, { lookUp: SERVICE })).toMatchObject({ proof: 'hash', outrankedBy: null });
    expect(await counting()).toMatchObject({ state: 'loaded', version: 2, proof: 'hash' });
    await expectRebuiltEqual();
  });
});

describe('a file that a spreadsheet has saved', () => {
  const cell = { 'Ship Date': '2026-02-01' };
  test.each<[string, Parameters<typeof aCsv>[0], string]>([
    ['scientific notation', [{ 'Tracking Number': '1.77E+15' }], 'scientific notation'],
    ['scientific notation with a comma', [{ Origin: '1,2E+10' }], 'scientific notation'],
    [
      'numbers cut to fifteen digits',
      [{ 'Tracking Number': '940011100000000000' }, { 'Tracking Number': '940011100000001000' }],
      'cut to 15 digits',
    ],
    ['a postal code without its leading zero', [{ Origin: '501' }], 'leading zeros'],
    [
      'postal codes of mixed length',
      [
        { Origin: '10115', 'Currency Code': 'EUR' },
        { Origin: '1067', 'Currency Code': 'EUR' },
      ],
      'leading zeros',
    ],
  ])('is refused for %s, unless an operator accepts it, which its proof shows', async (_, rows, sign) => {
    const bytes = aCsv(rows);
    const refused = await imported(bytes);
    expect(refused).toMatchObject({
      outcome: 'rejected',
      findings: [{ rule: 'spreadsheet', value: expect.stringContaining(sign) }],
    });
    expect(await imported(bytes, { dryRun: true })).toEqual(refused);
    expect(await imported(bytes, { acceptsSpreadsheet: true, dryRun: true })).toMatchObject({
      proof: 'accepted',
    });
    expect(await imported(bytes, { acceptsSpreadsheet: true })).toMatchObject({ proof: 'accepted' });
  });

  test('keeps an accepted file through a rebuild', async () => {
    await imported(aCsv([{ 'Tracking Number': '1.77E+15' }]), { acceptsSpreadsheet: true });
    await expectRebuiltEqual();
    expect(await counting()).toMatchObject({ version: 1, proof: 'accepted' });
  });

  test('is loaded when the service names its hash', async () => {
    const bytes = aCsv([{ ...cell, 'Tracking Number': '1.77E+15' }]);
    const lookUp = async () => ({
      ...{
        status: 'finalized' as const,
        header: { ...HEADER, invoiceTotalAmount: '9.16', totalTransactionCount: 1 },
      },
      hash: { sha256: sha256(bytes), sizeBytes: bytes.length },
    });
    expect(await imported(bytes, { lookUp })).toMatchObject({ outcome: 'loaded', proof: 'hash' });
  });

  test.each<[string, Parameters<typeof aCsv>[0]]>([
    ['a number of sixteen digits that ends in zero', [{ 'Tracking Number': '1234567890123450' }]],
    [
      'numbers of eighteen digits',
      [{ 'Tracking Number': '940011100000000000' }, { 'Tracking Number': '940011100000001234' }],
    ],
    ['no origin', [{ Origin: '' }]],
    ['postal codes of four digits in euros', [{ Origin: '1010', 'Currency Code': 'EUR' }]],
    ["a carrier's own letters", [{ 'Tracking Number': '1E15' }]],
  ])('is not assumed for %s', async (_, rows) => {
    expect(await imported(aCsv(rows))).toMatchObject({ outcome: 'loaded', proof: 'unproved' });
  });
});
