/** What every command has in common: streams, exit codes, help, suggestions. */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { AUDITED } from '../../cli/audited-commands.ts';
import { VERBS } from '../../cli/verbs.ts';
import { CSV_HEADERS } from '../../lib/wire/csv-file.ts';
import { lockWarehouse } from '../../warehouse/duckdb/locks.ts';
import { BILLSYNC, billsync, cleanEnvironment } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const dataDir = join(folder, 'data');
const env = { BILLSYNC_DATA_DIR: dataDir };

/** Roles that run until they are ended, and what only looks; anything else has to say what it would do. */
const WRITES_NOTHING = new Set([
  ...['demo', 'up', 'webhook', 'worker', 'dashboard', 'temporal', 'mcp'],
  ...[
    'config show',
    'doctor',
    'alerts list',
    'alerts explain',
    'alerts costs',
    'invoices list',
    'invoices show',
    'events list',
    'events show',
    'explain',
    'sql',
  ],
  ...['quarantine list', 'quarantine show', 'schedule show', 'verify', 'completion'],
  ...['audit list', 'audit verify', 'hold list'],
  ...['disputes list', 'disputes show', 'disputes find'],
]);

/** What writes, but changes no invoice, nothing that is kept and nothing that runs by itself: no audit log has it. */
const NOT_AUDITED = new Set([
  'init',
  'report',
  'shipments',
  'export',
  'disputes export',
  'reconcile',
  'snapshot',
]);

describe('billsync', () => {
  test('shows every verb with --help on stdout, and ends with 2 when no verb is given', async () => {
    const [help, nothing] = await Promise.all([billsync(['--help']), billsync([])]);
    expect(help.exitCode).toBe(0);
    expect((await runCommand(['-h'])).stdout).toBe(help.stdout);
    expect(help.stderr).toBe('');
    for (const { name, summary } of VERBS)
      expect(help.stdout).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 20)}`, 'm'));
    expect(nothing).toMatchObject({ exitCode: 2, stdout: '' });
  });

  test('explains each verb, and each verb below it, with an example', async () => {
    for (const { name, load } of VERBS) {
      const command = await load();
      for (const each of [command, ...command.commands]) {
        let help = '';
        each
          .configureOutput({
            writeOut: (text) => {
              help += text;
            },
          })
          .outputHelp();
        expect(help, `${name} ${each.name()}`).toMatch(/Example/);
        // What the verb has of its own comes before what all have.
        expect(help.indexOf('\nOptions:'), `${name} ${each.name()}`).toBeLessThan(
          help.includes('Options of every command:')
            ? help.indexOf('Options of every command:')
            : help.length,
        );
        expect(each.description(), each.name()).not.toBe('');
      }
    }
  });

  test('takes --dry-run for whatever writes, below every verb, and is known to the audit log or need not be', async () => {
    for (const { name, load } of VERBS) {
      const command = await load();
      for (const each of command.commands.length > 0 ? command.commands : [command]) {
        const full = each === command ? name : `${name} ${each.name()}`;
        const has = each.options.some(({ long }) => long === '--dry-run') || name === 'sandbox';
        expect(has || WRITES_NOTHING.has(full), full).toBe(true);
        if (name === 'sandbox') continue;
        const kinds = [WRITES_NOTHING, NOT_AUDITED, AUDITED].filter((kind) => kind.has(full));
        expect(
          kinds,
          `${full}: in AUDITED of cli/audited-commands.ts, or in one list of this test`,
        ).toHaveLength(1);
      }
    }
  });

  test('loads no engine before a verb is run: help and completion answer at once', async () => {
    const script = `
      const { VERBS } = await import(${JSON.stringify(new URL('../../cli/verbs.ts', import.meta.url).href)});
      const { Module } = await import('node:module');
      for (const { load } of VERBS) await load();
      const loaded = Object.keys(Module._cache).filter((path) => /@temporalio|@duckdb|echarts|aws-sdk/.test(path));
      console.log(JSON.stringify(loaded.slice(0, 3)));`;
    const finished = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(finished.stdout.trim()).toBe('[]');
  });

  test('suggests the verb or the option that was meant, and ends with 2', async () => {
    const [verb, option, begun] = await Promise.all([
      runCommand(['repport']),
      runCommand(['report', '--tenat', 'x'], { env }),
      runCommand(['report', '--out', 'x'], { env }),
    ]);
    expect(begun.stderr).toMatch(/Did you mean --output\?/);
    expect(verb).toMatchObject({ exitCode: 2, stdout: '' });
    expect(verb.stderr).toMatch(/did you mean `billsync report`\?/);
    expect(option.exitCode).toBe(2);
    expect(option.stderr).toMatch(/Did you mean --tenant\?/);
  });

  test('takes the options of every command before the verb, between its words and behind it', async () => {
    const given = ['--data-dir', join(folder, 'named'), '--setting=webhook_port=21999', '--quiet'];
    const shown = await Promise.all([
      runCommand([...given, 'config', 'show', '--json']),
      runCommand(['config', ...given, 'show', '--json']),
      runCommand(['config', 'show', ...given, '--json']),
    ]);
    for (const { exitCode, stdout, stderr } of shown) {
      expect([exitCode, stderr]).toEqual([0, '']);
      expect(stdout).toBe(shown[0].stdout);
    }
    expect(shown[0].stdout).toContain(join(folder, 'named'));
    expect(await runCommand(['--datadir', 'x', 'verify'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("unknown option '--datadir'"),
    });
  });

  test('works from any folder through a symlink', async () => {
    const link = join(folder, 'linked');
    symlinkSync(BILLSYNC, link);
    const { execFileSync } = await import('node:child_process');
    expect(execFileSync(link, ['--version'], { cwd: '/', encoding: 'utf8' })).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('says every wrong setting at once, in three lines at most, and never a secret', async () => {
    const finished = await runCommand(['config', 'show'], {
      env: {
        ...env,
        BILLSYNC_WEBHOOK_PORT: 'door',
        BILLSYNC_ENCRYPTION_KEY: 'topsecretvalue',
        BILLSYNC_DATA: 'x',
      },
    });
    expect(finished).toMatchObject({ exitCode: 2, stdout: '' });
    expect(finished.stderr.trim().split('\n').length).toBeLessThanOrEqual(3);
    expect(finished.stderr).toMatch(/BILLSYNC_WEBHOOK_PORT/);
    expect(finished.stderr).toMatch(/BILLSYNC_DATA is not a setting/);
    expect(finished.stderr).not.toMatch(/topsecretvalue/);
  });

  test('keeps secrets off the command line', async () => {
    const finished = await runCommand(['config', 'show', '--setting', 'client_secret=hunter2'], { env });
    expect(finished.exitCode).toBe(2);
    expect(finished.stderr).toMatch(/BILLSYNC_CLIENT_SECRET_FILE/);
  });

  test('ends with 3 while nothing is published, and with 2 in the folder of the other environment', async () => {
    const nothing = await runCommand(['report', 'tenants', '--json'], { env });
    expect(nothing).toMatchObject({ exitCode: 3, stdout: '' });
    const other = join(folder, 'production');
    mkdirSync(other);
    writeFileSync(join(other, 'environment'), 'production\n');
    const refused = await runCommand(['report', 'tenants', '--data-dir', other]);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toMatch(/belongs to the production environment/);
  });

  test('ends with 5 when no Temporal can be reached, with 2 when the service is not configured', async () => {
    const [away, unconfigured] = await Promise.all([
      runCommand(['schedule', 'show'], { env }),
      billsync(['up'], { env }),
    ]);
    expect(away.exitCode).toBe(5);
    expect(unconfigured.exitCode).toBe(2);
    expect(unconfigured.stderr.trim().split('\n')).toEqual([
      'billsync: 4 settings are missing',
      '  BILLSYNC_BASE_URL, BILLSYNC_AUTH_URL, BILLSYNC_CLIENT_ID, BILLSYNC_CLIENT_SECRET are not set',
      expect.stringMatching(/billsync init.*billsync up --sandbox/),
    ]);
  });

  test('ends with 7 when a file is refused, and says what is wrong with it and how often', async () => {
    const data = join(folder, 'refused');
    const cells = [
      'Acme',
      '2026-02-28',
      '7f3a0000-1111-4222-8333-444455556666',
      '2026-02-03',
      '00501',
      'USD',
      'x',
    ];
    const row = [...cells, '2.5', 'LB', '1Z999', 'UPS', '5', '2026-02-10', 'Ground'].join(',');
    const file = join(folder, 'refused.csv');
    writeFileSync(file, `${[CSV_HEADERS.join(','), ...Array(150).fill(row)].join('\r\n')}\r\n`);
    const ask = (...args: readonly string[]) =>
      runCommand(['import', file, ...args], { env: { BILLSYNC_DATA_DIR: data } });
    const refused = await ask('--json');
    expect(refused.exitCode).toBe(7);
    const [told] = JSON.parse(refused.stdout) as [{ findings: readonly unknown[] }];
    expect(told).toMatchObject({ finding_count: 100, findings_cut_off: true });
    expect(told.findings).toHaveLength(100);
    expect(refused.stderr).toMatch(/line 2, Billing Cost, rule amount, value "x", and at least 99 more/);
    expect(refused.stderr).toMatch(/nothing of a refused file is loaded; export it again/);
    const misnamed = await ask('--invoice', 'INV-1');
    expect([misnamed.exitCode, misnamed.stderr]).toEqual([
      2,
      expect.stringContaining('--invoice INV-1 is no'),
    ]);
  });

  test('ends with 8 and names the process that has the warehouse, also when it is a role that does not start', async () => {
    const held = join(folder, 'held');
    mkdirSync(held, { mode: 0o700 });
    const lock = await lockWarehouse(join(held, 'warehouse.lock'), { role: 'import', now: new Date() });
    const service = {
      BILLSYNC_BASE_URL: 'https://127.0.0.1:9',
      BILLSYNC_AUTH_URL: 'https://127.0.0.1:9',
      BILLSYNC_CLIENT_ID: 'a',
      BILLSYNC_CLIENT_SECRET: 'b',
      BILLSYNC_ADMIN_PORT: '0',
    };
    const [verified, worked] = await Promise.all([
      runCommand(['verify'], { env: { BILLSYNC_DATA_DIR: held } }),
      billsync(['worker'], { env: { BILLSYNC_DATA_DIR: held, ...service } }),
    ]).finally(() => lock.release());
    for (const { exitCode, stderr } of [verified, worked]) {
      expect(exitCode).toBe(8);
      expect(stderr).toMatch(new RegExp(`process ${process.pid} \\(import\\)`));
    }
  });

  test('says in words that a file is not there, with 2, and shows the stack to who asks for it only', async () => {
    const [plain, verbose] = await Promise.all([
      runCommand(['backfill', '--ids', '/nowhere/ids.csv'], { env }),
      runCommand(['backfill', '--ids', '/nowhere/ids.csv', '--verbose'], { env }),
    ]);
    expect(plain).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(
        /^billsync: \/nowhere\/ids\.csv: there is no such file or folder\n {2}→ .*\n$/,
      ),
    });
    expect(verbose.stderr).toMatch(/^ {4}at /m);
  });

  test('takes no harm when the reader of a pipe goes away', () => {
    const script = `"${BILLSYNC}" "$@" | head -1; exit "\${PIPESTATUS[0]}"`;
    for (const args of [['--help'], ['report', '--json'], ['config', 'show']]) {
      const finished = spawnSync('bash', ['-c', script, 'bash', ...args], {
        env: cleanEnvironment(env),
        encoding: 'utf8',
      });
      expect(finished.status, args.join(' ')).toBe(0);
      expect(finished.stdout.split('\n')).toHaveLength(2);
      expect(finished.stderr).not.toMatch(/EPIPE|^ {4}at /m);
    }
  });

  test('asks before what cannot be undone: elsewhere than on a terminal only --yes is an answer', async () => {
    const finished = await runCommand(['quarantine', 'discard', 'd-0123456789abcdef'], { env });
    expect(finished.exitCode).toBe(3);
  });
});

describe('billsync config show', () => {
  test('tells where each setting came from, secrets masked', async () => {
    const file = join(folder, 'settings.yaml');
    writeFileSync(file, 'overdue_after: [2h]\nclient_secret: hunter2\n');
    const finished = await billsync(
      ['config', 'show', '--json', '--config', file, '--setting', 'admin_port=1234'],
      { env: { ...env, TEMPORAL_ADDRESS: 'temporal.example.com:7233', TEMPORAL_API_KEY: 'hunter3' } },
    );
    expect(finished.exitCode).toBe(0);
    expect(finished.stdout).not.toMatch(/hunter/);
    const { settings, temporal, temporal_variables } = JSON.parse(finished.stdout) as {
      settings: Record<string, { value: string; origin: string }>;
      temporal: string;
      temporal_variables: Record<string, string>;
    };
    expect(temporal).toBe('configured');
    expect(temporal_variables).toEqual({
      TEMPORAL_ADDRESS: 'temporal.example.com:7233',
      TEMPORAL_API_KEY: '********',
    });
    expect(settings.overdue_after).toMatchObject({ value: '2h', origin: 'file' });
    expect(settings.data_dir).toMatchObject({ value: dataDir, origin: 'environment' });
    expect(settings.admin_port).toMatchObject({ value: '1234', origin: 'flag' });
    expect(settings.client_secret).toMatchObject({ value: '********', origin: 'file' });
    expect(settings.log_level).toMatchObject({ value: 'info', origin: 'default' });
  });
});

describe('billsync init', () => {
  test('writes a settings file that is accepted, and never replaces one unasked', async () => {
    const file = join(folder, 'made.yaml');
    const made = await runCommand(['init', '--config', file, '--environment', 'production']);
    expect(made).toMatchObject({ exitCode: 0, stdout: '' });
    expect(readFileSync(file, 'utf8')).toMatch(/^environment: "production"$/m);
    expect((await runCommand(['config', 'show', '--config', file])).exitCode).toBe(0);
    expect((await runCommand(['init', '--config', file])).exitCode).toBe(2);
    expect((await runCommand(['init', '--config', file, '--yes'])).exitCode).toBe(0);
  });
});

describe('billsync report', () => {
  test('does not take filters for a report whose name was forgotten', async () => {
    const finished = await runCommand(['report', '--from', '2026-03-01'], { env });
    expect(finished).toMatchObject({ exitCode: 2, stdout: '' });
    expect(finished.stderr).toMatch(/--from needs the name of a report/);
  });

  test('lists the catalogue as an array of name, title, grain and parameters', async () => {
    const finished = await runCommand(['report', '--json'], { env });
    const catalogue = JSON.parse(finished.stdout) as Record<string, unknown>[];
    expect(catalogue.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['tenants', 'carriers', 'zones']),
    );
    for (const report of catalogue)
      expect(Object.keys(report)).toEqual(['name', 'title', 'grain', 'parameters']);
  });
});

describe('billsync completion', () => {
  test.each(['bash', 'zsh', 'fish'])('knows verbs and flags for %s', async (shell) => {
    const finished = await runCommand(['completion', shell]);
    expect(finished.exitCode).toBe(0);
    for (const word of ['quarantine', 'requeue', 'concurrency', 'as-known-on'])
      expect(finished.stdout).toContain(word);
  });

  test('completes in a real bash', async () => {
    const { execFileSync } = await import('node:child_process');
    const { stdout } = await runCommand(['completion', 'bash']);
    const ask = (words: readonly string[]) =>
      execFileSync(
        'bash',
        [
          '-c',
          `${stdout}\nCOMP_WORDS=(billsync ${words.join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _billsync; echo "\${COMPREPLY[@]}"`,
        ],
        { encoding: 'utf8' },
      ).trim();
    expect(ask(['inv'])).toBe('invoices');
    expect(ask(['invoices', 're'])).toBe('retry restore');
    expect(ask(['report', 'tenants', '--as'])).toBe('--as-known-on');
  });
});

describe('billsync doctor', () => {
  test('ends with 5 and says what to do when the service cannot be reached', async () => {
    const finished = await runCommand(['doctor', '--json'], {
      env: {
        BILLSYNC_DATA_DIR: join(folder, 'doctor'),
        BILLSYNC_BASE_URL: 'https://127.0.0.1:9',
        BILLSYNC_AUTH_URL: 'https://127.0.0.1:9',
        BILLSYNC_CLIENT_ID: 'a',
        BILLSYNC_CLIENT_SECRET: 'b',
        BILLSYNC_ALLOW_PRIVATE_HOSTS: 'true',
      },
    });
    const checks = JSON.parse(finished.stdout) as { check: string; result: string }[];
    expect(checks.find(({ check }) => check === 'billing service')?.result).toBe('failed');
    expect(checks.find(({ check }) => check === 'data folder')?.result).toBe('ok');
    expect(finished.exitCode).toBe(5);
  });
});
