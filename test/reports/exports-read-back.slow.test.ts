/** Files for other tools, read back by two programs each that have nothing in common with the writer. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, expect, test } from 'vitest';
import { runCommand } from '../support/processes/run-command.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { runPython } from '../support/tools/installed-tools.ts';

const TEXTS = [
  '_x0041_',
  '_x005F_x0041_',
  '_x00e9_',
  'a\r\nb',
  '=1+1',
  ' 1E5 ',
  '<&"\'>',
  '北海道 😀',
  '007',
  '\u0001',
  '-',
  '\t-\t',
  '\n',
  '"',
  '\u202e',
];
const fixture = await reportsFixture([
  anInvoice(
    TEXTS.map((service, index) => aShipment({ service, cost: `${index + 10}.1000`, origin: '02139' })),
    { date: '2026-04-10' },
  ),
]);
afterAll(() => fixture.remove());

const run = async (...args: readonly string[]): Promise<void> => {
  const env = { BILLSYNC_DATA_DIR: fixture.folder };
  expect(await runCommand(args, { env, cwd: fixture.folder })).toMatchObject({ exitCode: 0 });
};

test('a workbook is read by openpyxl and by calamine as it was meant, without a warning', async () => {
  await run('shipments', '--sort', 'billing_cost', '--output', 'shipments.xlsx');
  const answer = await runPython(
    fixture.folder,
    `
import json, warnings
warnings.simplefilter("error")
import openpyxl
from python_calamine import CalamineWorkbook
sheet = openpyxl.load_workbook("shipments.xlsx")["shipments"]
rows = list(sheet.iter_rows(values_only=True))
place = rows[0].index("Service level")
cost = rows[0].index("Billing cost")
other = CalamineWorkbook.from_path("shipments.xlsx").get_sheet_by_name("shipments").to_python()
print(json.dumps([
  [row[place] for row in rows[1:-1]],
  [row[place] for row in other[1:-1]],
  [[row[cost] for row in read[1:-1]] == [n + 10.1 for n in range(${TEXTS.length})] for read in (rows, other)],
  sheet.auto_filter.ref, sheet.freeze_panes, str(rows[1][rows[0].index("Ship date")]),
]))`,
    '1.5',
  );
  const [openpyxl, calamine, ...rest] = JSON.parse(answer);
  // openpyxl undoes the escape of an underscore once, and no other.
  expect(openpyxl).toEqual(TEXTS.map((text) => (text === '\u0001' ? '_x0001_' : text.replace('x005F_', ''))));
  expect(calamine).toEqual(TEXTS);
  expect(rest).toEqual([[true, true], `A1:W${TEXTS.length + 1}`, 'A2', '2026-03-02 00:00:00']);
});

test('a CSV for programs is read by Python, and by csv-parse, as every text was billed', async () => {
  await run('shipments', '--sort', 'billing_cost', '--format', 'csv-exact', '--output', 'exact.csv');
  await run('export', '--format', 'csv-exact', '--output', 'exact');
  const script = `
import csv, glob, json
paths = ["exact.csv"] + glob.glob("exact/shipments/*/*.csv")
read = [list(csv.DictReader(open(path, encoding="utf-8", newline=""), strict=True)) for path in paths]
print(json.dumps([[row["service_level"] for row in sorted(rows, key=lambda row: row["billing_cost"])] for rows in read]))`;
  expect(JSON.parse(await runPython(fixture.folder, script, '1.5'))).toEqual([TEXTS, TEXTS]);
  const records = parse(await readFile(join(fixture.folder, 'exact.csv')), { columns: true });
  expect((records as Record<string, string>[]).map((row) => row.service_level)).toEqual(TEXTS);
});

test('an export is read by DuckDB, pandas and Polars alike: the month from the path, each id as text', async () => {
  await run('export', '--output', 'out');
  const answer = await runPython(
    fixture.folder,
    `
import json, duckdb, pandas, polars
found = []
for what, key in (("shipments", "tracking_number"), ("invoices", "invoice_number")):
    by_duckdb = duckdb.sql(f"from read_parquet('out/{what}/*/*.parquet', hive_partitioning = true, hive_types_autocast = false) order by {key}")
    by_pandas = pandas.read_parquet(f"out/{what}").sort_values(key)
    by_polars = polars.read_parquet(f"out/{what}/**/*.parquet", hive_partitioning=True, try_parse_hive_dates=False).sort(key)
    for name in ("invoice_id", "tenant_id", "partner_id", "invoice_number", "month"):
        cells = [[str(row[0]) for row in by_duckdb.select(name).fetchall()], [str(cell) for cell in by_pandas[name]], by_polars[name].to_list()]
        found.append([what, name, cells[0] == cells[1] == cells[2], str(by_duckdb.select(name).types[0]), str(by_polars[name].dtype), cells[2][0]])
# an id joins with an id
joined = polars.read_parquet("out/shipments/**/*.parquet").join(polars.read_parquet("out/invoices/**/*.parquet"), on=["invoice_id", "tenant_id"]).height
print(json.dumps([found, joined]))`,
    '1.5',
  );
  const [found, joined] = JSON.parse(answer) as [unknown[][], number];
  expect(joined).toBe(TEXTS.length);
  for (const [what, name, isSame, ...types] of found)
    expect([what, name, isSame, ...types.slice(0, 2)]).toEqual([what, name, true, 'VARCHAR', 'String']);
  expect(found.filter(([, name]) => name === 'month').map((each) => each.at(-1))).toEqual([
    '2026-03',
    '2026-04',
  ]);
});
