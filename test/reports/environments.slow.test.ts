import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { forEachBounded } from '../../lib/semaphore.ts';
import { listReports } from '../../reports/catalogue.ts';
import { BILLSYNC, cleanEnvironment, startRole } from '../support/processes/billsync.ts';
import type { CommandResult, CommandRun } from '../support/processes/command-runner.ts';
import { testProgram } from '../support/processes/test-program.ts';
import { anInvoice, aShipment, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { cellsOf } from '../support/tools/read-workbook.ts';
import { aCsv } from '../warehouse/support.ts';

/** An instant whose milliseconds end in zero, and one that is in another month west of Greenwich. */
const invoice = anInvoice([aShipment({ invoiceDate: '2026-03-10' })], {
  loadedAt: '2026-03-01T01:02:03.130Z',
  createdAt: '2026-02-28T22:52:00.130Z',
});
const fixture = await reportsFixture([invoice, ...seededInvoices(7, 20)], {
  publishedAt: '2026-04-01T00:00:00.100Z',
});
afterAll(() => fixture.remove());

const COMMAND_RUNNER = testProgram('support/processes/command-runner.ts');

/** Added to an environment without a locale and a time zone; `HOME` is a folder with settings of other programs. */
const ENVIRONMENTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plain: { LC_ALL: 'C', TZ: 'UTC' },
  thai: { LC_ALL: 'th_TH.UTF-8' },
  persian: { LC_MESSAGES: 'fa_IR.UTF-8' },
  arabic: { LANG: 'ar_SA.UTF-8', TZ: 'Asia/Riyadh' },
  japanese: { LC_ALL: 'ja_JP.UTF-8@calendar=japanese' },
  turkish: { LC_ALL: 'tr_TR.UTF-8', LANGUAGE: 'tr', TZ: 'Asia/Kathmandu' },
  german: {
    LANG: 'de_DE.UTF-8',
    LC_NUMERIC: 'de_DE.UTF-8',
    LC_COLLATE: 'de_DE.UTF-8',
    TZ: 'America/St_Johns',
  },
  'new york': { TZ: 'America/New_York' },
  kiritimati: { TZ: 'Pacific/Kiritimati' },
  programs: {
    HOME: 'home',
    ...{
      PGHOST: 'db.invalid',
      PGTZ: 'Asia/Tokyo',
      PGDATESTYLE: 'German',
      PGOPTIONS: '-c timezone=Asia/Tokyo',
    },
    ...{ AWS_REGION: 'nowhere-1', AWS_PROFILE: 'none', AWS_ENDPOINT_URL: 'http://127.0.0.1:9' },
    ...{ HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9', DUCKDB_HOME: '/nowhere' },
  },
  terminal: {
    COLUMNS: '20',
    LINES: '5',
    TERM: 'xterm-256color',
    FORCE_COLOR: '3',
    CI: 'true',
  },
  machine: {
    TMPDIR: `it's "a" folder; %41`,
    SLURM_CPUS_ON_NODE: '7',
    NODE_OPTIONS: '--no-warnings',
    NODE_ENV: 'production',
  },
};
const DECIDED_BY_US = ['LC_ALL', 'LC_MESSAGES', 'LANG', 'LANGUAGE', 'TZ', 'TERM', 'COLUMNS', 'CI'];

const REPORTS = listReports().map(({ name }) => ['report', name, '--json']);
const IMPORTED = join(fixture.folder, 'imported.csv');
writeFileSync(IMPORTED, aCsv());
/** The instant of a publication of this test, in the head of a report and in the name of a file. */
const RECENT = new RegExp(`${new Date().toISOString().slice(0, 8)}\\d\\dT[-:.\\d]+Z`, 'g');
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);

/** On a data folder of its own: what is written in an environment, and read in it, before and after a rebuild. */
const READ_BACK: readonly (readonly string[])[] = [
  ['report', 'tenants', '--as-known-on', TOMORROW, '--json'],
  [
    'sql',
    '--json',
    'select * exclude (loaded_at), abs(epoch(loaded_at) - epoch(now())) < 3600 as is_recent from shipments order by all',
  ],
];
const WRITES: readonly (readonly string[])[] = [
  ['import', IMPORTED, '--json'],
  ...READ_BACK,
  ['verify', '--json'],
  ['rebuild'],
  ...READ_BACK,
];

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

async function outputsIn(name: string) {
  const root = join(fixture.folder, name.replace(' ', '-'));
  const [data, folder, home] = [join(root, 'data'), join(root, 'out'), join(root, 'home')];
  const variables: Record<string, string> = { ...ENVIRONMENTS[name], HOME: home };
  if (variables.TMPDIR !== undefined) variables.TMPDIR = join(root, variables.TMPDIR);
  for (const made of [data, folder, home, variables.TMPDIR ?? root]) mkdirSync(made, { recursive: true });
  writeFileSync(join(home, '.duckdbrc'), "set TimeZone = 'Asia/Tokyo';\n");
  writeFileSync(join(home, '.pgpass'), '*:*:*:*:secret\n', { mode: 0o600 });
  copyFileSync(fixture.path, join(data, 'reports.duckdb'));
  const clean = cleanEnvironment(variables);
  for (const decided of DECIDED_BY_US) if (!(decided in variables)) delete clean[decided];
  const env = { BILLSYNC_DATA_DIR: data };
  const writing = { BILLSYNC_DATA_DIR: join(root, 'written') };
  const [into, from] = [join(root, 'played.json'), join(root, 'plays.json')];
  const runs: CommandRun[] = [
    ...[...REPORTS, ...COMMANDS].map((args) => ({ args, env, cwd: folder, timeoutMs: 120_000 })),
    ...WRITES.map((args) => ({ args, env: writing, cwd: folder, timeoutMs: 120_000 })),
  ];
  writeFileSync(from, JSON.stringify(runs));
  const player = ['-c', 'exec "$@" <"$0"', from, process.execPath, COMMAND_RUNNER, BILLSYNC, into];
  await promisify(execFile)('sh', player, { env: clean });
  const played = JSON.parse(readFileSync(into, 'utf8')) as readonly CommandResult[];
  const files = [folder, join(data, 'user', 'sent-statements')].flatMap((place) =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return {
    printed: played.map(({ exitCode, stdout, stderr }, index) => [
      runs[index]?.args.slice(0, 2).join(' '),
      exitCode,
      stdout,
      stderr.replaceAll(root, '').replaceAll(RECENT, 'recently'),
    ]),
    files: Object.fromEntries(
      files.sort().map((file) => [
        file.slice(root.length),
        file.endsWith('.xlsx')
          ? cellsOf(readFileSync(file)).join('\n')
          : // A sent statement contains its instant.
            readFileSync(file, 'latin1').replace(/(?<=2026-03,ship-date,|"sent_at":")[-0-9]+T[0-9:.]+Z/g, ''),
      ]),
    ),
    pages: await pagesIn({ ...clean, ...env }),
  };
}

async function pagesIn(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const role = await startRole(['dashboard', '--port', '0'], { env });
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

test('commands, lists, exports, statements and pages are the same in each environment', async () => {
  const plain = await outputsIn('plain');
  expect(plain.printed.filter(([, exitCode]) => exitCode !== 0)).toEqual([]);
  expect(plain.printed.join()).toContain('2026-03-01T01:02:03.130Z');
  const others = Object.keys(ENVIRONMENTS).filter((name) => name !== 'plain');
  await forEachBounded(others, 2, async (name) => {
    expect({ name, ...(await outputsIn(name)) }).toEqual({ name, ...plain });
  });
}, 900_000);
