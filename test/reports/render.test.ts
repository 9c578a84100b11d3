import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { parse } from 'csv-parse/sync';
import stringWidth from 'string-width';
import { afterAll, describe, expect, test } from 'vitest';
import { fromTenThousandths } from '../../lib/decimal.ts';
import { jsonValue } from '../../lib/duckdb-values.ts';
import { visible, visibleCell } from '../../lib/text.ts';
import { fileNameOf, sheetNameOf } from '../../reports/render/labels.ts';
import { type REPORT_FORMATS, renderReport } from '../../reports/render/render-report.ts';
import { testFolder } from '../support/folders.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { cellsOf, unzipped } from '../support/tools/read-workbook.ts';
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

describe('json and ndjson', () => {
  test('hold the rows unchanged, keys in order', async () => {
    expect(JSON.parse(await body('json'))).toEqual(tenants.rows);
    expect(
      (await body('ndjson'))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(tenants.rows);
    expect(await body('json')).toContain(
      '"tenant":"<script>alert(1)</script>","currency_code":"USD","invoices":1,"shipments":1,"billing_cost":"12345678901234.5678"',
    );
  });

  test('are an empty array when nothing matches', async () => {
    expect((await renderReport({ ...tenants, rows: [] }, 'json')).body).toBe('[]\n');
    expect((await renderReport({ ...tenants, rows: [] }, 'ndjson')).body).toBe('');
  });
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
  test('reads back equal except for neutralized formulas and escaped characters', async () => {
    const rows = parse(await body('csv'), { columns: true, record_delimiter: '\r\n' }) as Record<
      string,
      string
    >[];
    expect(rows).toEqual(
      tenants.rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, cell]) => [
            name,
            cell === null ? '' : visible(String(cell)).replace(/^=/, "'="),
          ]),
        ),
      ),
    );
    expect(rows.some((row) => row.tenant === "'=cmd|calc")).toBe(true);
    expect(rows.some((row) => row.billing_cost === '-1.5000')).toBe(true);
  });

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

describe('parquet', () => {
  test.each(['tenants', 'proof', 'duplicates', 'restatement'])(
    '%s reads back typed and equal',
    async (name) => {
      const result = await fixture.run(name);
      const folder = testFolder();
      const path = join(folder, 'r.parquet');
      await writeFile(path, (await renderReport(result, 'parquet')).body);
      const instance = await DuckDBInstance.create(':memory:');
      const connection = await instance.connect();
      await connection.run("set TimeZone = 'UTC'");
      const read = await connection.prepare('select * from read_parquet($path)');
      read.bind({ path });
      const reader = await read.runAndReadAll();
      const rows = reader.convertRowObjects(jsonValue);
      expect(rows.map((row) => Object.values(row).map(plain))).toEqual(
        result.rows.map((row) => result.columns.map((column) => plain(row[column.name]))),
      );
      const types = Object.fromEntries(
        reader.columnNames().map((column, index) => [column, String(reader.columnTypes()[index])]),
      );
      if (types.billing_cost) expect(types.billing_cost).toBe('DECIMAL(38,4)');
      connection.closeSync();
      instance.closeSync();
    },
  );

  /** Both sides as text: DuckDB's JSON writes counts as text. */
  function plain(value: unknown): string | null {
    return value === null || value === undefined ? null : String(value);
  }
});

describe('xlsx', () => {
  test('stores numbers as numbers and long ones as text', async () => {
    const { body: bytes } = await renderReport(tenants, 'xlsx');
    expect(
      Buffer.from(bytes as Uint8Array)
        .subarray(0, 2)
        .toString(),
    ).toBe('PK');
    const sheet = unzipped(bytes as Uint8Array, 'xl/worksheets/sheet1.xml');
    expect(sheet).toContain('<v>-1.5</v>');
    expect(sheet).not.toContain('12345678901234.5678</v>');
    expect(sheet).not.toContain('<f>');
  });

  test('has a filter for each column and the exact sums below', async () => {
    const bytes = (await renderReport(tenants, 'xlsx')).body as Uint8Array;
    const sheet = unzipped(bytes, 'xl/worksheets/sheet1.xml');
    expect(sheet).toMatch(new RegExp(`</sheetData><autoFilter ref="A1:[A-Z]+${tenants.rows.length + 1}"/>`));
    expect(unzipped(bytes, 'xl/worksheets/sheet2.xml')).not.toContain('autoFilter');
    const currencies = [...new Set(tenants.rows.map((row) => String(row.currency_code)))];
    const below = cellsOf(bytes).slice(tenants.rows.length + 1);
    expect(below.map(([label]) => label)).toEqual(currencies.map((currency) => `Sum in ${currency}`));
    for (const [place, currency] of currencies.entries()) {
      const costs = tenants.rows
        .filter((row) => row.currency_code === currency)
        .map((row) => row.billing_cost);
      const sum = fromTenThousandths(
        costs.reduce<bigint>((all, cost) => all + BigInt(String(cost).replace('.', '')), 0n),
      );
      // More than Excel's 15 digits are text.
      expect(below[place]).toContain(sum.length > 16 ? sum : String(Number(sum)));
    }
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
