/** A file that a person imports is refused when a spreadsheet program seems to have saved it; nothing else proves such a file. */

import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  aCsv,
  archiveCsv,
  aWarehouse,
  type Cells,
  loadArchived,
  loadCsv,
  type TestWarehouse,
} from '../support.ts';

let t: TestWarehouse;
beforeAll(async () => {
  t = await aWarehouse();
});
afterAll(() => t.close());

const scientific = fc.constantFrom('1.77E+15', '1,5e+3', '9E+1', '-2.5E+10');
const plain = fc.constantFrom(
  '1Z999',
  '1E5',
  'E+15',
  '1.77E+',
  '1.77E-15',
  '17.7E+15',
  'x1.77E+15',
  '1.77E+15x',
  '5',
);
/** Digits around the fifteen that a spreadsheet keeps. */
const number = fc
  .tuple(fc.integer({ min: 12, max: 15 }), fc.nat({ max: 5 }), fc.constantFrom('', '7', 'A'))
  .map(([digits, zeros, end]) => `${'123456789123456'.slice(0, digits)}${'0'.repeat(zeros)}${end}`);
const rows: fc.Arbitrary<readonly Cells[]> = fc.array(
  fc.record({
    'Tracking Number': fc.oneof(
      { weight: 4, arbitrary: number },
      { weight: 2, arbitrary: plain },
      { weight: 1, arbitrary: scientific },
    ),
    Tenant: fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: scientific }),
    'Service Level': fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: scientific }),
    'Carrier Zone': fc.oneof({ weight: 9, arbitrary: plain }, { weight: 1, arbitrary: scientific }),
    Carrier: fc.oneof(plain, scientific),
    Origin: fc.constantFrom('', '00501', '501', '1234', '12', '123456', 'SW1A', 'AB1', '1.2E+4', 'ABCDE'),
    'Currency Code': fc.constantFrom('USD', 'EUR'),
  }),
  { minLength: 1, maxLength: 5 },
);

/** The cells that billsync reads as text and that a spreadsheet reads as numbers. */
const TEXTS = ['Tenant', 'Origin', 'Tracking Number', 'Carrier Zone', 'Service Level'] as const;

/** Column and number of rows of each sign, from the description in docs/csv-files.md alone. */
function signsOf(cells: readonly Cells[]): readonly string[] {
  const count = (is: (row: Cells) => boolean): number => cells.filter(is).length;
  const isScientific = (text = ''): boolean => /^-?\d([.,]\d+)?e\+\d+$/i.test(text);
  const all = cells.map((row) => row['Tracking Number'] ?? '').filter((text) => /^\d{16,}$/.test(text));
  const cut = all.filter((text) => /^0+$/.test(text.slice(15)));
  const zeros = cut.reduce((sum, text) => sum + text.length - 15, 0);
  const short = (row: Cells): boolean => /^\d{3,4}$/.test(row.Origin ?? '');
  const isUs = (row: Cells): boolean => row['Currency Code'] === 'USD';
  const shorts = count(short);
  const areCodes =
    count((row) => short(row) && isUs(row)) > 0 || count((row) => /^\d{5}$/.test(row.Origin ?? '')) > 0;
  const scientifics = count((row) => TEXTS.some((name) => isScientific(row[name])));
  return [
    ...(scientifics > 0 ? [`Tracking Number ${scientifics}`] : []),
    ...(cut.length > 0 && cut.length === all.length && zeros >= 4 ? [`Tracking Number ${cut.length}`] : []),
    ...(shorts > 0 && areCodes ? [`Origin ${shorts}`] : []),
  ];
}

test('the signs of a spreadsheet are found in any file, which is loaded when the person accepts it', async () => {
  const request = { announcedSha256: null, source: 'file' } as const;
  await fc.assert(
    fc.asyncProperty(rows, async (drawn) => {
      const invoiceId = crypto.randomUUID();
      const bytes = aCsv(drawn, invoiceId);
      const file = await archiveCsv(t, bytes);
      const csvPath = await t.archive.localPath(file.sha256);
      const checked = await t.warehouse.check({ invoiceId, file, csvPath, details: null });
      const outcome = await loadArchived(t, file.sha256, { ...request, invoiceId });
      // A dry run states what the load does.
      if (outcome.outcome === 'rejected') expect(checked).toEqual(outcome);
      else expect(checked).toMatchObject({ outcome: 'checked', shipments: drawn.length, isDamaged: false });
      const expected = signsOf(drawn);
      // The service's own file may have such cells; beside it, in one batch, nothing changes.
      const other = crypto.randomUUID();
      const ofService = await loadCsv(t, aCsv(drawn, other), { invoiceId: other });
      expect(ofService).toMatchObject({ outcome: 'loaded', isDamaged: false });
      if (expected.length === 0) {
        expect(outcome).toMatchObject({ outcome: 'loaded', isDamaged: false });
        return;
      }
      expect(outcome).toMatchObject({ outcome: 'rejected', findingCount: expected.length });
      const { findings } = outcome as Extract<typeof outcome, { readonly outcome: 'rejected' }>;
      expect(findings.map(({ column, value }) => `${column} ${/\d+(?= rows?$)/.exec(value ?? '')}`)).toEqual(
        expected,
      );
      const accepted = await loadCsv(t, bytes, { ...request, invoiceId, acceptsSpreadsheet: true });
      expect(accepted).toMatchObject({ outcome: 'loaded', isDamaged: true });
    }),
    { numRuns: 60 },
  );
});
