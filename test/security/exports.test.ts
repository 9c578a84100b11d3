import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, expect, test } from 'vitest';
import { visible } from '../../lib/text.ts';
import { drawCharts } from '../../reports/render/charts.ts';
import { renderCsv } from '../../reports/render/csv-text.ts';
import { renderReport } from '../../reports/render/render-report.ts';
import { attack } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { billsync } from '../support/processes/billsync.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { runOnFile } from '../warehouse/support.ts';

const FORMULAS = [
  ...['=1+1', '+cmd|calc', '-2+3', '@SUM(A1)', ' =hyperlink("x")', '\t=1', '\u200b=1', '%0A'],
  ...['\u00a0=1', '\u3000=1', '\u2028=1', '＝1', '＋1', '－1', '＠SUM(A1)', "'=1", "'' ＝1"],
];
/** In a CSV: what cannot be seen is written out, and a formula that is still one gets an apostrophe. */
const written = (text: string): string => {
  const seen = visible(text);
  return /^'*[ \u3000]*[=+\-@|%＝＋－＠]/u.test(seen) ? `'${seen}` : seen;
};
const folder = testFolder();

const shipments = FORMULAS.map((text, at) =>
  aShipment({ tracking: text, carrier: text, origin: text, service: text, cost: at === 0 ? '-1.5' : '2' }),
);
const fixture = await reportsFixture([anInvoice(shipments, { number: '=2+2' })]);
afterAll(() => fixture.remove());

test('writes no live formula and exact amounts with --format csv', async () => {
  const target = join(folder, 'out');
  const env = { BILLSYNC_DATA_DIR: fixture.folder };
  const { exitCode, stderr } = await billsync(['export', '--format', 'csv', '--output', target], { env });
  expect(stderr).toContain('Wrote');
  expect(exitCode).toBe(0);
  const rows = (what: string): Record<string, string>[] =>
    readdirSync(join(target, what), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .flatMap((entry) =>
        parse<Record<string, string>>(readFileSync(join(entry.parentPath, entry.name)), { columns: true }),
      );
  const shipments = rows('shipments');
  expect(shipments.map((row) => row.tracking_number).sort()).toEqual(FORMULAS.map(written).sort());
  expect(shipments.map((row) => row.billing_cost).sort()).toEqual([
    '-1.5000',
    ...Array(FORMULAS.length - 1).fill('2.0000'),
  ]);
  // The other writer of CSV has the same rule.
  const column = {
    name: 'text',
    type: 'text',
    scale: 0,
    unit: null,
    align: 'left',
    isDetail: false,
  } as const;
  const cells = parse(renderCsv({ columns: [column], rows: FORMULAS.map((text) => ({ text })) }), {
    columns: true,
  });
  expect(cells).toEqual(FORMULAS.map((text) => ({ text: written(text) })));
  const live = [...shipments, ...rows('invoices')]
    .flatMap((row) => Object.values(row))
    .filter((cell) => /^[\s\p{Cf}]*[=+\-@|%＝＋－＠\t\r]/u.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell));
  expect(live).toEqual([]);
  attack('exports: formulas in cells', {
    tries: FORMULAS.length * 4 + 1,
    held: FORMULAS.length * 4 + 1 - live.length,
  });
});

test('escapes invisible characters in CSV and charts, not in Parquet and JSON', async () => {
  const unseen = [
    ...['\u202e', '\u2066', '\u200b', '\u001b[2J', '\u0007', '\uffff', '\ufdd0', '\u{1fffe}', '\u{e0001}'],
  ];
  const names = [
    ...unseen.map((letter) => `Ac${letter}me`),
    ...['line\r\nbreak', 'a\u00a0b', 'می\u200cخواهم', '👩\u200d👩', 'a\u200db', '日\u3000本'],
  ];
  const own = await reportsFixture([
    anInvoice(names.map((carrier, at) => aShipment({ carrier, tracking: carrier, cost: `${at + 1}` }))),
  ]);
  try {
    const env = { BILLSYNC_DATA_DIR: own.folder };
    const exported = async (format: string): Promise<string[]> => {
      const target = join(own.folder, format);
      const args = ['export', '--format', format, '--output', target];
      expect(await billsync(args, { env })).toMatchObject({ exitCode: 0 });
      return readdirSync(join(target, 'shipments'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name));
    };
    const csv = (await exported('csv')).flatMap((path) =>
      parse<Record<string, string>>(readFileSync(path), { columns: true }),
    );
    expect(csv.map((row) => row.tracking_number).sort()).toEqual(names.map(visible).sort());
    const [parquet = ''] = await exported('parquet');
    expect((await trackingNumbersIn(parquet)).sort()).toEqual([...names].sort());
    const result = await own.run('carriers');
    const raw = new RegExp(unseen.map((letter) => letter.slice(0, 2).replace('[', '')).join('|'), 'u');
    const charts = await drawCharts(result);
    expect(charts).not.toEqual([]);
    for (const { wide, narrow, description } of charts)
      for (const drawn of [wide.svg, JSON.stringify(narrow), description]) expect(drawn).not.toMatch(raw);
    const seen = parse<Record<string, string>>(renderCsv(result), { columns: true });
    expect(seen.map(({ carrier }) => carrier).sort()).toEqual(names.map(visible).sort());
    const json = JSON.parse(String((await renderReport(result, 'json')).body)) as { carrier: string }[];
    expect(json.map(({ carrier }) => carrier).sort()).toEqual([...names].sort());
  } finally {
    await own.remove();
  }
});

async function trackingNumbersIn(path: string): Promise<string[]> {
  const rows = await runOnFile(':memory:', `select tracking_number from read_parquet('${path}')`);
  return rows.map(({ tracking_number }) => String(tracking_number));
}
