import { afterEach, describe, expect, test } from 'vitest';
import { CSV_HEADERS, CSV_TOLERANCES, type CsvTolerance } from '../../../lib/wire/csv-file.ts';
import { rejection } from '../../../warehouse/import/refused-files.ts';
import {
  archiveCsv,
  aWarehouse,
  CELLS,
  INVOICE,
  loadArchived,
  loadCsv,
  makeDataDir,
  settingsFor,
  type TestWarehouse,
} from '../support.ts';

/** Fewer than usual; a file in the specified form is loaded at the usual size in `chunks.test.ts`. */
const PER_CUT = 2_000;

let t: TestWarehouse;
afterEach(() => t.close());

async function tolerating(...csvTolerate: readonly CsvTolerance[]): Promise<void> {
  t = await aWarehouse({ settings: { ...settingsFor(makeDataDir()), csvTolerate }, recordsPerCut: PER_CUT });
}

const OWN: Readonly<Record<string, string>> = {
  ...CELLS,
  Tenant: '"Acme, ""Inc."""',
  'Tracking Number': '1Z0',
  'Carrier Invoice Date': '',
  'Service Level': '"by\nair"',
};

/** Without a CSV library, so that each byte is known. */
function file({ names = CSV_HEADERS as readonly string[], rows = [{}], end = '\r\n' } = {}): Buffer {
  const lines = rows.map((row) =>
    names.map((name) => new Map(Object.entries({ ...OWN, ...row })).get(name) ?? '').join(','),
  );
  return Buffer.from([names.join(','), ...lines, ''].join(end));
}

const [first = '', second = '', ...others] = CSV_HEADERS;
const REORDERED = [second, ...others, first];
const ADDED = [first, 'Fuel, "Surcharge"', second, ...others, '__proto__', '7'];
const ZEROS = { 'Billing Cost': '-0.500000', 'Billable Weight': '2.50000' };

const FORMS: readonly (readonly [string, readonly CsvTolerance[], Buffer])[] = [
  ['LF line ends', ['line-ends'], file({ end: '\n' })],
  ['another order of columns', ['column-order'], file({ names: REORDERED })],
  ['a column more', ['added-columns'], file({ names: [...CSV_HEADERS, 'Fuel'], rows: [{ Fuel: '0.10' }] })],
  ['zeros beyond four decimals', ['decimals'], file({ rows: [{}, ZEROS] })],
  ['all of it', CSV_TOLERANCES, file({ names: [...REORDERED, 'Fuel'], rows: [ZEROS], end: '\n' })],
];

const ROWS = `select row_number::integer as n, tenant, ship_date::varchar as day, origin, billing_cost::varchar as cost,
  billable_weight::varchar as weight, service_level, carrier_invoice_date, added_columns from shipments order by row_number`;

describe.each(FORMS)('%s', (_, needed, bytes) => {
  test('is refused by default, with the setting that would accept it', async () => {
    await tolerating();
    const outcome = await loadCsv(t, bytes);
    if (outcome.outcome !== 'rejected') return expect(outcome.outcome).toBe('rejected');
    const seen = needed.filter((tolerance) => tolerance !== 'decimals' || needed.length === 1);
    expect([...(outcome.neededTolerances ?? [])].sort()).toEqual([...seen].sort());
    for (const tolerance of seen) {
      expect(rejection(outcome)).toMatch(new RegExp(`BILLSYNC_CSV_TOLERATE with \\S*${tolerance}`));
    }
  });

  test('loads when tolerated, is proved, and is rebuilt equally under another setting', async () => {
    await tolerating(...needed);
    const { sha256, ...archived } = await archiveCsv(t, bytes);
    const checked = await t.warehouse.check({
      ...{ invoiceId: INVOICE, file: { sha256, ...archived }, details: null },
      csvPath: await t.archive.localPath(sha256),
    });
    expect(checked).toMatchObject({ outcome: 'checked' });
    expect(await loadArchived(t, sha256)).toMatchObject({ outcome: 'loaded', proof: 'announced' });
    const rows = await t.query(ROWS);
    expect(rows.at(-1)).toMatchObject({
      ...{ tenant: 'Acme, "Inc."', day: '2026-02-03', origin: '00501', weight: '2.5000' },
      cost: needed.includes('decimals') ? '-0.5000' : '9.1600',
      ...{ service_level: 'by\nair', carrier_invoice_date: null },
    });
    expect(await t.drift()).toEqual([]);
    expect((await t.rebuild({ settings: settingsFor(t.dataDir) })).losses).toEqual([]);
    expect(await t.query(ROWS)).toEqual(rows);
    expect(await t.drift()).toEqual([]);
  });
});

test('stores added columns as JSON text in their order', async () => {
  await tolerating('added-columns');
  const rows = [
    { 'Fuel, "Surcharge"': '0.10', '7': '"a ""b""\r\nc"' },
    { 'Fuel, "Surcharge"': '', '7': '\u{1f69a}' },
  ];
  const names = ADDED.map((name) => (/[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name));
  const text = file({ names: ADDED, rows }).toString().split('\r\n').slice(1).join('\r\n');
  expect(await loadCsv(t, Buffer.from(`${names.join(',')}\r\n${text}`))).toMatchObject({ outcome: 'loaded' });
  expect(await t.query('select added_columns from shipments order by row_number')).toEqual([
    { added_columns: '{"Fuel, \\"Surcharge\\"":"0.10","__proto__":null,"7":"a \\"b\\"\\r\\nc"}' },
    { added_columns: '{"Fuel, \\"Surcharge\\"":null,"__proto__":null,"7":"\u{1f69a}"}' },
  ]);
  const query = `select json_extract_string(added_columns, '$."Fuel, \\"Surcharge\\""') as fuel from shipments where row_number = 1`;
  expect(await t.query(query)).toEqual([{ fuel: '0.10' }]);
});

test.each<[string, Buffer, object]>([
  ['a fifth decimal that is not zero', file({ rows: [{ 'Billing Cost': '1.23456' }] }), { rule: 'amount' }],
  ['a lone CR', file({ rows: [{ Origin: 'a\rb' }], end: '\n' }), { rule: 'bare-cr' }],
  ['a column twice', file({ names: [...CSV_HEADERS, 'Tenant'] }), { rule: 'header' }],
  ['an added column twice', file({ names: [...CSV_HEADERS, 'Fuel', 'Fuel'] }), { rule: 'header' }],
  ['an added column without a name', file({ names: [...CSV_HEADERS, ' '] }), { rule: 'header' }],
  ['a missing column', file({ names: [...others, first, 'Fuel'] }), { rule: 'header' }],
  ['a name in another case', file({ names: ['tenant', second, ...others] }), { rule: 'header' }],
  ['names without end', file({ names: [...CSV_HEADERS, 'x'.repeat(3_000)] }), { rule: 'header' }],
  [
    'a short record',
    Buffer.concat([file({ end: '\n' }), Buffer.from('a,b\n')]),
    { rule: 'field-count', row: 2 },
  ],
  [
    'a bad cell, with its place',
    file({ names: [...REORDERED, 'Fuel'], rows: [{}, { 'Ship Date': '2026-02-30' }], end: '\n' }),
    { rule: 'date', row: 2, line: 4, column: 'Ship Date' },
  ],
  [
    'a record that is too big as JSON',
    file({ names: [...CSV_HEADERS, 'Fuel'], rows: [{ Fuel: '\u0001'.repeat(500_000) }] }),
    { rule: 'record-too-big', row: 1 },
  ],
])('refuses %s with everything tolerated', async (_, bytes, finding) => {
  await tolerating(...CSV_TOLERANCES);
  expect(await loadCsv(t, bytes)).toMatchObject({
    outcome: 'rejected',
    findings: expect.arrayContaining([expect.objectContaining(finding)]),
  });
  expect(await t.query(ROWS)).toEqual([]);
});
