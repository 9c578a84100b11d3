/** The examples of docs/your-own-tools.md run unchanged and agree with the reports. */

import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { runReport } from '../../reports/report-session.ts';
import { BILLSYNC } from '../support/processes/billsync.ts';
import { reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { installDuckDbTools, runPython, runShell } from '../support/tools/installed-tools.ts';

const page = await readFile(new URL('../../docs/your-own-tools.md', import.meta.url), 'utf8');
const examples = (language: string): string[] =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, text]) => text ?? '',
  );

const run = promisify(execFile);

const fixture = await reportsFixture(seededInvoices(5, 30), { publishedAt: '2026-07-01T00:00:00Z' });
await installDuckDbTools();
afterAll(() => fixture.remove());

const rowsOf = async (name: string) => (await runReport({ databasePath: fixture.path, name })).rows;

describe('the command line', () => {
  test('returns the rows of the report carriers', async () => {
    const [query = ''] = examples('sh');
    const out = await runShell(fixture.folder, query.replace('-readonly', '-readonly -csv'));
    const found = out
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
    const expected = (await rowsOf('carriers')).map((row) =>
      [row.carrier, row.currency_code, row.shipments, row.billing_cost].join(','),
    );
    expect(found.sort()).toEqual(expected.sort());
  });

  test('writes Parquet', async () => {
    await runShell(fixture.folder, examples('sh')[1] ?? '');
    expect((await stat(join(fixture.folder, 'shipments.parquet'))).size).toBeGreaterThan(1000);
  });
});

describe.each(['1.5', '2.0'] as const)('Python with DuckDB %s', (version) => {
  test('returns exactly the rows of the report tenants', async () => {
    const [first = '', ...lines] = (await runPython(fixture.folder, examples('python')[0] ?? '', version))
      .trim()
      .split('\n');
    expect(first).toBe('publication 7 of 2026-07-01 00:00:00+00:00');
    const expected = (await rowsOf('tenants')).map((row) =>
      [row.tenant, row.currency_code, row.billing_cost].join(' '),
    );
    expect(lines.sort()).toEqual(expected.sort());
  });

  test('answers as known on an earlier date', async () => {
    expect(await runPython(fixture.folder, examples('python')[1] ?? '', version)).toMatch(
      /^\[\(\d+, Decimal\('[\d.]+'\)\)\]\n$/,
    );
  });
});

describe('an export', () => {
  const listing = `
import glob, pyarrow.parquet as pq
for path in sorted(glob.glob("out/*/*/*.parquet")):
    file = pq.ParquetFile(path)
    about = {key.decode(): value.decode() for key, value in file.metadata.metadata.items() if b"billsync" in key}
    instants = {str(field.type) for field in file.schema_arrow if str(field.type).startswith("timestamp")}
    print(path, "month" in file.schema_arrow.names, about["billsync_month"], sorted(instants), file.schema_arrow.field("billing_cost").type)
`;

  test('has the month in its name and metadata and UTC instants', async () => {
    const env = { ...process.env, BILLSYNC_DATA_DIR: fixture.folder };
    await run(BILLSYNC, ['export', '--output', join(fixture.folder, 'out')], { env });
    const lines = (await runPython(fixture.folder, listing, '1.5')).trim().split('\n');
    expect(lines).toContain(
      `out/shipments/month=2026-03/shipments-shipped-2026-03.parquet False of ship_date ['timestamp[us, tz=UTC]'] decimal128(18, 4)`,
    );
    expect(lines).toContain(
      `out/invoices/month=2026-04/invoices-dated-2026-04.parquet False of invoice_date ['timestamp[us, tz=UTC]'] decimal128(38, 4)`,
    );
  });

  test('has the same facts as CSV', async () => {
    const env = { ...process.env, BILLSYNC_DATA_DIR: fixture.folder };
    const target = join(fixture.folder, 'out-csv');
    await run(BILLSYNC, ['export', '--format', 'csv', '--output', target], { env });
    const [header = '', first = ''] = (
      await readFile(join(target, 'shipments/month=2026-03/shipments-shipped-2026-03.csv'), 'utf8')
    ).split('\n');
    expect(header).not.toContain('month');
    expect(first).toMatch(/,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,/);
  });
});
