import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { BILLSYNC, cleanEnvironment, startRole } from '../support/processes/billsync.ts';
import type { CommandResult, CommandRun } from '../support/processes/command-runner.ts';
import { testProgram } from '../support/processes/test-program.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { cellsOf } from '../support/tools/read-workbook.ts';

/** An instant whose milliseconds end in zero, and one that is in another month west of Greenwich. */
const invoice = anInvoice([aShipment({ invoiceDate: '2026-03-10' })], {
  loadedAt: '2026-03-01T01:02:03.130Z',
  createdAt: '2026-02-28T22:52:00.130Z',
});
const fixture = await reportsFixture([invoice], { publishedAt: '2026-04-01T00:00:00.100Z' });
afterAll(() => fixture.remove());

const COMMAND_RUNNER = testProgram('support/processes/command-runner.ts');
const ZONES = ['UTC', 'America/New_York', 'Asia/Kolkata'] as const;

const COMMANDS: readonly (readonly string[])[] = [
  ['report', 'proof'],
  ['report', 'register', '--json'],
  ['report', 'restatement', '--format', 'csv'],
  ['invoices', 'list', '--json'],
  ['invoices', 'show', invoice.number],
  ['shipments', '--json'],
  ['shipments', '--as-known-on', '2026-03-02', '--format', 'about'],
  ['sql', '--json', 'select loaded_at, [loaded_at] as nested from shipments'],
  ['shipments', '--output', 'shipments.csv', '--format', 'csv'],
  ['shipments', '--output', 'shipments.parquet', '--format', 'parquet'],
  ['shipments', '--output', 'shipments.xlsx', '--format', 'xlsx'],
  ['export', '--output', 'csv', '--format', 'csv'],
  ['export', '--output', 'parquet'],
  ['statement', '--tenant', 'Acme', '--period', '2026-03', '--format', 'pdf', '--output', 'draft'],
  ['statement', '--tenant', 'Acme', '--period', '2026-03', '--format', 'csv', '--output', 'draft'],
  [
    'statement',
    '--all-tenants',
    '--period',
    '2026-03',
    '--format',
    'csv',
    '--output',
    'sent',
    '--final',
    '--yes',
  ],
];

async function outputsIn(zone: string) {
  const root = join(fixture.folder, zone.replace('/', '-'));
  const [data, folder] = [join(root, 'data'), join(root, 'out')];
  for (const made of [data, folder]) mkdirSync(made, { recursive: true });
  copyFileSync(fixture.path, join(data, 'reports.duckdb'));
  const env = { BILLSYNC_DATA_DIR: data };
  const [into, from] = [join(root, 'played.json'), join(root, 'plays.json')];
  const plays: CommandRun[] = COMMANDS.map((args) => ({ args, env, cwd: folder }));
  writeFileSync(from, JSON.stringify(plays));
  const player = ['-c', 'exec "$@" <"$0"', from, process.execPath, COMMAND_RUNNER, BILLSYNC, into];
  await promisify(execFile)('sh', player, { env: cleanEnvironment({ TZ: zone }) });
  const played = JSON.parse(readFileSync(into, 'utf8')) as readonly CommandResult[];
  const files = [folder, join(data, 'user', 'sent-statements')].flatMap((place) =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return {
    printed: played.map(({ exitCode, stdout, stderr }) => [exitCode, stdout, stderr.replaceAll(root, '')]),
    files: Object.fromEntries(
      files.sort().map((file) => [
        file.slice(root.length),
        file.endsWith('.xlsx')
          ? cellsOf(readFileSync(file)).join('\n')
          : // A sent statement contains its instant.
            readFileSync(file, 'latin1').replace(/(?<=2026-03,ship-date,|"sent_at":")[-0-9]+T[0-9:.]+Z/g, ''),
      ]),
    ),
    pages: await pagesIn(zone, env),
  };
}

async function pagesIn(zone: string, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const role = await startRole(['dashboard', '--port', '0'], { env: { ...env, TZ: zone } });
  try {
    const paths = [`/invoices/${invoice.id}`, '/shipments?format=json', '/reports/proof/download?format=csv'];
    const pages: string[] = [];
    for (const path of paths)
      pages.push(await (await fetch(new URL(path, `${role.addresses.dashboard}/`))).text());
    return pages;
  } finally {
    await role.end('SIGTERM');
  }
}

test('reports, lists, exports, statements and pages are the same in each time zone', async () => {
  const [utc, ...others] = await Promise.all(ZONES.map(outputsIn));
  expect(utc?.printed.map(([exitCode]) => exitCode)).toEqual(COMMANDS.map(() => 0));
  expect(utc?.printed.join()).toContain('2026-03-01T01:02:03.130Z');
  for (const other of others) expect(other).toEqual(utc);
});
