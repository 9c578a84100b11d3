import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Verb } from '../../cli/verb.ts';
import { VERBS } from '../../cli/verbs.ts';
import { lockWarehouse } from '../../warehouse/duckdb/locks.ts';
import { testFolder } from '../support/folders.ts';
import { BILLSYNC, billsync, cleanEnvironment } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';

const folder = testFolder();
const dataDir = join(folder, 'data');
const env = { BILLSYNC_DATA_DIR: dataDir };

/** Roles and reading commands; all others have --dry-run. */
const WRITES_NOTHING = new Set([
  ...['demo', 'up', 'webhook', 'worker', 'dashboard', 'temporal', 'mcp'],
  ...['config show', 'doctor', 'explain', 'sql', 'verify', 'completion'],
  ...['alerts list', 'alerts explain', 'alerts costs', 'audit list', 'audit verify'],
  ...['invoices list', 'invoices show', 'events list', 'events show', 'hold list', 'schedule show'],
  ...['quarantine list', 'quarantine show', 'disputes list', 'disputes show', 'disputes find'],
  ...['user-files list', 'user-files show'],
]);

const NOT_AUDITED = new Set([
  ...['init', 'report', 'shipments', 'export', 'disputes export', 'reconcile', 'snapshot'],
  // `import` may bring the audit log itself, and changes no file that is there.
  ...['user-files export', 'user-files import'],
]);

describe('billsync', () => {
  test('lists every verb with --help on stdout, and ends with 2 without a verb', async () => {
    const [help, nothing] = await Promise.all([billsync(['--help']), billsync([])]);
    expect(help.exitCode).toBe(0);
    expect((await runCommand(['-h'])).stdout).toBe(help.stdout);
    expect(help.stderr).toBe('');
    for (const { name, summary } of VERBS)
      expect(help.stdout).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 20)}`, 'm'));
    expect(nothing).toMatchObject({ exitCode: 2, stdout: '' });
  });

  test('has --dry-run for every command that writes, and an audit entry or an exception', async () => {
    for (const { name, load } of VERBS) {
      const command = await load();
      for (const each of command.commands.length > 0 ? command.commands : [command]) {
        const full = each === command ? name : `${name} ${each.name()}`;
        const has = each.options.some(({ long }) => long === '--dry-run') || name === 'sandbox';
        expect(has || WRITES_NOTHING.has(full), full).toBe(true);
        if (name === 'sandbox') continue;
        const isListed = WRITES_NOTHING.has(full) || NOT_AUDITED.has(full);
        const isAudited = each instanceof Verb && each.isAudited;
        expect(isListed, `${full}: either audited() or in a list of this test`).toBe(!isAudited);
      }
    }
  });

  test('loads no engine for help and completion', async () => {
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

  test('accepts common options before, between and after the verb', async () => {
    const given = ['--data-dir', join(folder, 'named'), '--setting=webhook_port=21999', '--quiet'];
    const settings = await Promise.all([
      runCommand([...given, 'config', 'show', '--json']),
      runCommand(['config', ...given, 'show', '--json']),
      runCommand(['config', 'show', ...given, '--json']),
    ]);
    for (const { exitCode, stdout, stderr } of settings) {
      expect([exitCode, stderr]).toEqual([0, '']);
      expect(stdout).toBe(settings[0].stdout);
    }
    expect(settings[0].stdout).toContain(join(folder, 'named'));
    expect(await runCommand(['--datadir', 'x', 'verify'])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("unknown option '--datadir'"),
    });
    expect((await runCommand(['claims', 'list'])).stderr).toContain('Did you mean disputes?');
  });

  test('reports every wrong setting at once without a secret', async () => {
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

  test('ends with 3 before the first publication, and with 2 in a folder of the other environment', async () => {
    const nothing = await runCommand(['report', 'tenants', '--json'], { env });
    expect(nothing).toMatchObject({ exitCode: 3, stdout: '' });
    const other = join(folder, 'production');
    mkdirSync(other);
    writeFileSync(join(other, 'environment'), 'production\n');
    const refused = await runCommand(['report', 'tenants', '--data-dir', other]);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toMatch(/belongs to the production environment/);
  });

  test('ends with 5 without Temporal, and with 2 without service settings', async () => {
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

  test('ends with 8 and names the process that holds the warehouse', async () => {
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

  test('ends silently when the reader of a pipe ends', () => {
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
});

describe('billsync config show', () => {
  test('shows the origin of each setting and masks secrets', async () => {
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

describe('billsync completion', () => {
  test('completes in a real bash', async () => {
    const { execFileSync } = await import('node:child_process');
    const { stdout } = await runCommand(['completion', 'bash']);
    const complete = (typed: readonly string[]) =>
      execFileSync(
        'bash',
        [
          '-c',
          `${stdout}\nCOMP_WORDS=(billsync ${typed.join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _billsync; echo "\${COMPREPLY[@]}"`,
        ],
        { encoding: 'utf8' },
      ).trim();
    expect(complete(['inv'])).toBe('invoices');
    expect(complete(['invoices', 're'])).toBe('retry restore');
    expect(complete(['report', 'tenants', '--as'])).toBe('--as-known-on');
  });
});
