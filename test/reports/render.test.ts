import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import stringWidth from 'string-width';
import { afterAll, describe, expect, test } from 'vitest';
import { visibleCell } from '../../lib/text.ts';
import { fileNameOf, sheetNameOf } from '../../reports/render/labels.ts';
import { type REPORT_FORMATS, renderReport } from '../../reports/render/render-report.ts';
import { testFolder } from '../support/folders.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { unzipped } from '../support/tools/read-workbook.ts';
import { runOnFile } from '../warehouse/support.ts';

const fixture = await reportsFixture([
  ...seededInvoices(3, 30),
  anInvoice([aShipment({ tenant: '<script>alert(1)</script>', cost: '12345678901234.5678' })]),
  anInvoice([aShipment({ tenant: 'line\r\nbreak, "quoted"', cost: '-1.5' })]),
  anInvoice([aShipment({ tenant: '\u001b[2Jevil\u202e', cost: '0.0001' })]),
]);
const tenants = await fixture.run('tenants');
afterAll(() => fixture.remove());

const body = async (format: (typeof REPORT_FORMATS)[number], width?: number): Promise<string> =>
  String((await renderReport(tenants, format, { width })).body);

test('json is an empty array, and ndjson empty, when nothing matches', async () => {
  expect((await renderReport({ ...tenants, rows: [] }, 'json')).body).toBe('[]\n');
  expect((await renderReport({ ...tenants, rows: [] }, 'ndjson')).body).toBe('');
});

describe('the head of a form that has only rows', () => {
  test('is a document of its own with filters, level and proof', async () => {
    const about = JSON.parse(await body('about')) as Record<string, unknown>;
    expect(about).toMatchObject({
      ...{ report: 'tenants', title: tenants.title, grain: tenants.grain },
      filters: { from: null, to: null, by: 'ship-date', tenants: [], as_known_on: null },
      ...{ level: 'tenant', as_of: tenants.head.asOf, publication: tenants.head.publication },
      ...{ time_zone: 'UTC', rows: tenants.rows.length, shipments: tenants.head.shipments },
      ...{ proved_percent: tenants.head.provedPercent, notes: tenants.head.notes },
    });
    expect((about.columns as { name: string }[]).map((column) => column.name)).toEqual(
      tenants.columns.map((column) => column.name),
    );
  });

  test('is in the metadata of a Parquet file as well', async () => {
    const folder = testFolder();
    const path = join(folder, 'r.parquet');
    await writeFile(path, (await renderReport(tenants, 'parquet')).body);
    const kept = `select key::varchar as key, decode(value) as value from parquet_kv_metadata('${path}')`;
    expect(await runOnFile(':memory:', kept)).toContainEqual({
      key: 'billsync_about',
      value: await body('about'),
    });
  });
});

describe('csv', () => {
  test.each(['=1+1', '+1', '-1', '@SUM(A1)', ' =1', '\u3000=1', '|x', '%x', '=HYPERLINK("x")'])(
    'neutralises %j',
    async (tenant) => {
      const row = { ...tenants.rows[0], tenant };
      const text = String((await renderReport({ ...tenants, rows: [row] }, 'csv')).body)
        .split('\r\n')
        .slice(1)
        .join('\r\n');
      expect(text.startsWith("'") || text.startsWith('"\'')).toBe(true);
    },
  );
});

describe('table', () => {
  test.each([60, 80, 120, 200])('fits %i columns when text can give way', async (width) => {
    const narrow = { ...tenants, columns: tenants.columns.slice(0, 4) };
    for (const line of String((await renderReport(narrow, 'table', { width })).body).split('\n')) {
      expect(stringWidth(line)).toBeLessThanOrEqual(width);
    }
  });

  test('leaves out the last columns on a narrow terminal, names them, and keeps cost and currency', async () => {
    const plain = { ...tenants, rows: tenants.rows.slice(0, 3) };
    const table = String((await renderReport(plain, 'table', { width: 60 })).body);
    for (const line of table.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(60);
    expect(table).toMatch(/^Tenant +code .* cost\b/m);
    expect(table.replaceAll('\n', ' ')).toMatch(
      /Columns left out on this narrow terminal: .*cost_per_lb.* --format csv/,
    );
    expect(await body('table')).not.toContain('Left out');
  });

  test('aligns numbers under their point, whatever the script of the names', async () => {
    const lines = (await body('table')).trimEnd().split('\n').slice(3);
    const ends = new Set(lines.map((line) => stringWidth(line.slice(0, line.search(/\.\d{4} /)))));
    expect(ends.size).toBe(1);
    expect(await body('table')).toContain('12,345,678,901,234.5678');
  });

  test('escapes control characters', async () => {
    expect(await body('table')).toContain('\\u001b[2Jevil\\u202e');
    expect(await body('table')).not.toContain('\u001b');
  });
});

describe('xlsx', () => {
  test('stores no formula, and has a filter over the rows', async () => {
    const bytes = (await renderReport(tenants, 'xlsx')).body as Uint8Array;
    const sheet = unzipped(bytes, 'xl/worksheets/sheet1.xml');
    expect(sheet).not.toContain('<f>');
    expect(sheet).toMatch(new RegExp(`</sheetData><autoFilter ref="A1:[A-Z]+${tenants.rows.length + 1}"/>`));
    expect(unzipped(bytes, 'xl/worksheets/sheet2.xml')).not.toContain('autoFilter');
  });

  test('names the file and the sheet after report and period', async () => {
    const cases = [
      [{}, 'tenants.xlsx', 'tenants'],
      [
        { from: '2026-01-01', to: '2026-02-28' },
        'tenants_2026-01-01_2026-02-28.xlsx',
        'tenants 2026-01-01 2026-02-28',
      ],
      [{ from: '2026-01-01' }, 'tenants_from-2026-01-01.xlsx', 'tenants from-2026-01-01'],
      [{ to: '2026-02-28' }, 'tenants_until-2026-02-28.xlsx', 'tenants until-2026-02-28'],
    ] as const;
    for (const [filters, file, sheet] of cases) {
      const result = await fixture.run('tenants', filters);
      expect([fileNameOf(result, 'xlsx'), sheetNameOf(result)]).toEqual([file, sheet]);
    }
    const long = await fixture.run('carrier-statements', { from: '2026-01-01', to: '2026-02-28' });
    const { body: bytes } = await renderReport(long, 'xlsx');
    expect(unzipped(bytes as Uint8Array, 'xl/workbook.xml')).toContain('name="carrier-statements"');
  });
});

describe('html', () => {
  test('is one page without scripts or outside addresses', async () => {
    const page = await body('html');
    expect(page).not.toMatch(/<script|javascript:|on(load|click|error)=/i);
    expect(page.replaceAll('http://www.w3.org/', '')).not.toMatch(/https?:\/\/|src=|@import|url\(/);
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).toContain('<svg role="img" aria-label="Billing cost in USD by tenant"');
    expect(page).toContain('12,345,678,901,234.5678');
    expect(page).toContain('<code>packages</code> distinct tracking numbers');
  });
});

test('blanks at the ends of a cell are seen', () => {
  expect(['Acme', 'Acme ', '  Acme Inc '].map(visibleCell)).toEqual(['Acme', 'Acme␣', '␣␣Acme Inc␣']);
});
