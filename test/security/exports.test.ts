/** A file that a person opens in a spreadsheet computes nothing that a tenant's name asks for. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, expect, test } from 'vitest';
import { renderCsv } from '../../reports/render/csv-text.ts';
import { attack } from '../support/hostile/attack.ts';
import { billsync } from '../support/processes/billsync.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports/reports-fixture.ts';

const FORMULAS = [
  ...['=1+1', '+cmd|calc', '-2+3', '@SUM(A1)', ' =hyperlink("x")', '\t=1', '\u200b=1', '%0A'],
  ...['\u00a0=1', '\u3000=1', '\u2028=1', '＝1', '＋1', '－1', '＠SUM(A1)', "'=1", "'' ＝1"],
];
const folder = mkdtempSync(join(tmpdir(), 'billsync-export-'));

const shipments = FORMULAS.map((text, at) =>
  aShipment({ tracking: text, carrier: text, origin: text, service: text, cost: at === 0 ? '-1.5' : '2' }),
);
const fixture = await reportsFixture([anInvoice(shipments, { number: '=2+2' })]);
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await fixture.remove();
});

test('export --format csv writes no live formula, and every figure as it is', async () => {
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
  expect(shipments.map((row) => row.tracking_number).sort()).toEqual(
    FORMULAS.map((text) => `'${text}`).sort(),
  );
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
  const written = parse(renderCsv({ columns: [column], rows: FORMULAS.map((text) => ({ text })) }), {
    columns: true,
  });
  expect(written).toEqual(FORMULAS.map((text) => ({ text: `'${text}` })));
  const live = [...shipments, ...rows('invoices')]
    .flatMap((row) => Object.values(row))
    .filter((cell) => /^[\s\p{Cf}]*[=+\-@|%＝＋－＠\t\r]/u.test(cell) && !/^-?\d+(\.\d+)?$/.test(cell));
  expect(live).toEqual([]);
  attack('exports: formulas in cells', {
    tries: FORMULAS.length * 4 + 1,
    held: FORMULAS.length * 4 + 1 - live.length,
  });
});
