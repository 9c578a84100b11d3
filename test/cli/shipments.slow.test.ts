import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { billsync } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { runOnFile } from '../warehouse/support.ts';

const lines = ['1', '2', '30.5'].map((cost) =>
  aShipment({ cost, tracking: `T-${cost}`, service: cost === '1' ? null : 'Ground' }),
);
const fixture = await reportsFixture([anInvoice(lines, { number: 'INV-A' })]);
afterAll(() => fixture.remove());

const run = (...args: readonly string[]) =>
  billsync(['shipments', ...args], { env: { BILLSYNC_DATA_DIR: fixture.folder } });

describe('billsync shipments', () => {
  test('prints rows, totals and the next key as one document', async () => {
    const { stdout } = await run('--json', '--cost-from', '2', '--sort', '-billing_cost', '--limit', '1');
    const { rows, found, totals, next } = JSON.parse(stdout);
    expect(found).toBe(2);
    expect(rows).toMatchObject([
      { tracking_number: 'T-30.5', billing_cost: '30.5000', invoice_number: 'INV-A' },
    ]);
    expect(totals).toMatchObject([{ currency_code: 'USD', shipments: 2, billing_cost: '32.5000' }]);
    const second = await run('--ndjson', '--cost-from', '2', '--sort', '-billing_cost', '--after', next);
    expect(JSON.parse(second.stdout).tracking_number).toBe('T-2');
  });

  test('refuses invalid conditions', async () => {
    for (const [flags, message] of [
      [['--sort', 'cost'], 'no column "cost" for sort. Did you mean billing_cost?'],
      [['--is', 'colour=red'], 'have no condition "is_colour"'],
      [['--cost-to', 'much'], '"much" is no amount'],
    ] as const) {
      const { exitCode, stderr } = await run(...flags);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
    }
  });

  test('writes 250,001 shipments in the format of the file name', async () => {
    const env = { BILLSYNC_DATA_DIR: join(fixture.folder, 'many') };
    const path = join(fixture.folder, 'many.csv');
    await writeFile(path, invoiceOf(250_001));
    expect(await runCommand(['import', path], { env })).toMatchObject({ exitCode: 0 });
    const file = join(fixture.folder, 'all.parquet');
    const written = await runCommand(['shipments', '--quiet', '--columns', 'row_number', '--output', file], {
      env,
    });
    expect(written).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    const counted = `select count(distinct row_number)::integer as n from '${file}'`;
    expect(await runOnFile(':memory:', counted)).toEqual([{ n: 250_001 }]);
  });

  test('reports the rows that --limit leaves out of a file, also with --quiet', async () => {
    const output = join(fixture.folder, 'cut.csv');
    const { exitCode, stderr } = await run('--limit', '1', '--output', output, '--quiet');
    expect([exitCode, stderr]).toEqual([0, '1 of 3 rows: a limit leaves out the others\n']);
  });

  test('refuses a file name without a known format', async () => {
    const env = { BILLSYNC_DATA_DIR: fixture.folder };
    for (const command of [['shipments'], ['report', 'tenants']])
      for (const [file, format] of [
        ['x.foo', []],
        ['x', []],
        ['x.csv', ['--format', 'parquet']],
        ['x.foo', ['--format', 'csv']],
      ] as const) {
        const args = [...command, '--output', join(fixture.folder, file), ...format];
        expect(await runCommand(args, { env })).toMatchObject({
          exitCode: 2,
          stderr: expect.stringMatching(
            /the extension of the file names no format|the name of the file is not that of/,
          ),
        });
        expect(existsSync(join(fixture.folder, file))).toBe(false);
      }
  });
});

test('names unmatched rows of an input file on stderr', async () => {
  const costs = join(fixture.folder, 'costs.csv');
  await writeFile(costs, 'carrier,tracking_number,currency_code,cost\nups,T-1,USD,1\nups,T-X,USD,1\n');
  const env = { BILLSYNC_DATA_DIR: fixture.folder };
  const args = ['report', 'margin', '--costs', costs, '--format', 'csv', '--quiet'];
  expect(await runCommand(args, { env })).toMatchObject({
    exitCode: 0,
    stderr: 'note: costs.csv (--costs): 1 of 2 rows matched, these did not: line 3 (ups T-X USD).\n',
  });
});

function invoiceOf(rows: number): string {
  const header =
    'Tenant,Invoice Generation Date,Invoice ID,Ship Date,Origin,Currency Code,Billing Cost,Billable Weight,Billable Weight Unit,Tracking Number,Carrier,Carrier Zone,Carrier Invoice Date,Service Level';
  const line = (row: number): string =>
    `Acme,2026-10-05,11111111-2222-4333-8444-55555555555a,2026-09-28,02139,USD,10.00,2.5,LB,1Z${String(row).padStart(16, '0')},ups,4,2026-10-01,Ground`;
  return [header, ...Array.from({ length: rows }, (_, row) => line(row)), ''].join('\r\n');
}
