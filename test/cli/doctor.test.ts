import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generate } from 'selfsigned';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { sandboxOfUp } from '../../cli/commands/sandbox.ts';
import { CHECKS } from '../../cli/doctor/checks.ts';
import type { Check, Finding } from '../../cli/doctor/connection-checks.ts';
import { type Diagnosis, diagnose, exitCodeOf } from '../../cli/doctor/diagnose.ts';
import { describeError } from '../../cli/errors.ts';
import { writeRunFile } from '../../cli/roles/run-file.ts';
import { partnerIdOf } from '../../cli/with-temporal.ts';
import { loadSettings } from '../../lib/config/load-settings.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { testFolder } from '../support/folders.ts';
import { serviceSettings, startForeignService } from '../support/foreign-service.ts';

const HOLD = `
import { DuckDBInstance } from '@duckdb/node-api';
await DuckDBInstance.create(process.argv[1]);
console.log('held');
process.stdin.resume();
`;
const folder = testFolder();

const service = await startForeignService();
afterAll(() => service?.close());

type Env = Readonly<Record<string, string>>;

async function check(name: string, env: Env = {}): Promise<Finding & { exitCode: number }> {
  const settings = loadSettings({ env: { BILLSYNC_DATA_DIR: join(folder, 'data'), ...env }, cwd: folder });
  const found = CHECKS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`There is no check "${name}".`);
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 });
  try {
    return { ...(await found.run(settings)), exitCode: 0 };
  } catch (error) {
    const { what, subject, hint, exitCode } = describeError(error);
    return { result: 'failed', detail: `${what} ${subject ?? ''}`, hint, exitCode };
  }
}

describe('the billing service', () => {
  test('passes with the right settings', async () => {
    expect(await check('billing service', serviceSettings(service))).toMatchObject({
      result: 'ok',
      exitCode: 0,
    });
  });

  test('notes an account without ping (spec 4.2)', async () => {
    service.play('ping', ({ response }) => response.writeHead(403).end());
    const found = await check('billing service', serviceSettings(service)).finally(() =>
      service.play('ping', null),
    );
    expect(found).toMatchObject({
      result: 'note',
      exitCode: 0,
      detail: expect.stringMatching(/token valid for .* ping: .*HTTP 403/),
    });
  });

  test.each([
    [
      'a wrong secret',
      { BILLSYNC_CLIENT_SECRET: 'wrong' },
      4,
      /refused the client id/,
      /client id and secret/,
    ],
    ['no CA', { BILLSYNC_CA_FILE: '' }, 5, /cannot be reached/, /BILLSYNC_CA_FILE/],
    [
      'a CA that is not there',
      { BILLSYNC_CA_FILE: '/nowhere.pem' },
      2,
      /BILLSYNC_CA_FILE .*nowhere\.pem/,
      /config show/,
    ],
    ['no server', { BILLSYNC_AUTH_URL: 'https://127.0.0.1:9' }, 5, /ECONNREFUSED/, /address/],
    [
      'private addresses forbidden',
      { BILLSYNC_ALLOW_PRIVATE_HOSTS: '' },
      5,
      /not a public/,
      /ALLOW_PRIVATE_HOSTS/,
    ],
    ['half of the credentials', { BILLSYNC_CLIENT_ID: '' }, 2, /BILLSYNC_CLIENT_ID is not set/, /init/],
  ] as const)('fails with %s', async (_what, env, exitCode, detail, hint) => {
    const found = await check('billing service', { ...serviceSettings(service), ...env });
    expect(found).toMatchObject({ result: 'failed', exitCode });
    expect(found.detail).toMatch(detail);
    expect(found.hint).toMatch(hint);
  });
});

describe('the clock', () => {
  test("is compared with the service's clock", async () => {
    expect(await check('clock', serviceSettings(service))).toMatchObject({
      result: 'ok',
      detail: 'agrees with that of the billing service',
    });
    for (const [minutes, result, detail] of [
      [1, 'note', /(59|60) s ahead of/],
      [120, 'failed', /2 h ahead of .*; more than 5 min is refused/],
      [-120, 'failed', /2 h behind/],
    ] as const) {
      const real = Date.now;
      const spy = vi.spyOn(Date, 'now').mockImplementation(() => real() + minutes * 60_000);
      const found = await check('clock', serviceSettings(service)).finally(() => spy.mockRestore());
      expect(found.result).toBe(result);
      expect(found.detail).toMatch(detail);
    }
  });
});

describe('the data folder', () => {
  test('is private and of the right environment', async () => {
    const open = join(folder, 'open');
    await mkdir(open);
    await chmod(open, 0o755);
    expect(await check('data folder', { BILLSYNC_DATA_DIR: open })).toMatchObject({
      result: 'note',
      hint: `chmod 700 ${open}`,
    });
    const other = join(folder, 'other');
    await mkdir(other);
    writeFileSync(join(other, 'environment'), 'production\n');
    const diagnoses: Diagnosis[] = [];
    const settings = loadSettings({ env: { BILLSYNC_DATA_DIR: other }, cwd: folder });
    for await (const diagnosis of diagnose(settings)) diagnoses.push(diagnosis);
    expect(exitCodeOf(diagnoses)).toBe(2);
    expect(diagnoses.find(({ check: name }) => name === 'data folder')?.result).toBe('failed');
    expect(diagnoses.find(({ check: name }) => name === 'inbox')?.detail).toMatch(/skipped/);
    expect(existsSync(join(other, 'inbox'))).toBe(false);
  });
});

describe('the endpoint', () => {
  test('needs a matching certificate and key, and reports the expiry', async () => {
    const pair = await generate([{ name: 'commonName', value: 'localhost' }], {
      notAfterDate: new Date(Date.now() + 5 * 86_400_000),
    });
    const strange = await generate([{ name: 'commonName', value: 'localhost' }]);
    const [cert, key, otherKey] = ['cert.pem', 'key.pem', 'other.pem'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(cert, pair.cert);
    writeFileSync(key, pair.private);
    writeFileSync(otherKey, strange.private);
    const env = { BILLSYNC_WEBHOOK_BASIC_AUTH: 'u:p', BILLSYNC_WEBHOOK_TLS_CERT: cert };
    expect((await check('endpoint', { ...env, BILLSYNC_WEBHOOK_TLS_KEY: key })).detail).toMatch(
      /certificate expires/,
    );
    const early = await generate([{ name: 'commonName', value: 'localhost' }], {
      notBeforeDate: new Date(Date.now() + 86_400_000),
    });
    writeFileSync(cert, early.cert);
    writeFileSync(key, early.private);
    expect(await check('endpoint', { ...env, BILLSYNC_WEBHOOK_TLS_KEY: key })).toMatchObject({
      ...{ result: 'failed', exitCode: 1 },
      detail: expect.stringMatching(/not valid yet.*it is valid from .*cert\.pem/s),
    });
    writeFileSync(cert, pair.cert);
    for (const [path, detail] of [
      [otherKey, /is not the key of the certificate/],
      [join(folder, 'none.pem'), /TLS_KEY cannot be read: .*none\.pem/],
    ] as const) {
      const found = await check('endpoint', { ...env, BILLSYNC_WEBHOOK_TLS_KEY: path });
      expect(found).toMatchObject({ result: 'failed', exitCode: 2 });
      expect(found.detail).toMatch(detail);
    }
  });
});

describe('the warehouse', () => {
  test('names the program that has it open, and a file that is no warehouse', async () => {
    const dataDir = join(folder, 'held');
    await mkdir(dataDir);
    const path = join(dataDir, 'warehouse.duckdb');
    writeFileSync(path, 'no database');
    expect(await check('warehouse', { BILLSYNC_DATA_DIR: dataDir })).toMatchObject({
      result: 'failed',
      exitCode: 7,
      hint: expect.stringMatching(/rebuild/),
    });
    rmSync(path);
    // The lock is between processes, so another one has to hold it.
    const holder = spawn(process.execPath, ['--input-type=module', '-e', HOLD, path], {
      stdio: ['pipe', 'pipe', 'inherit'],
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
    });
    try {
      await once(holder.stdout, 'data');
      const found = await check('warehouse', { BILLSYNC_DATA_DIR: dataDir });
      expect(found).toMatchObject({ result: 'failed', exitCode: 8 });
      expect(found.detail).toMatch(new RegExp(`process ${holder.pid}`));
    } finally {
      holder.kill('SIGKILL');
    }
  });
});

describe('the processes', () => {
  test('are asked first, and only what they cannot say is tested', async () => {
    const dataDir = join(folder, 'running');
    const components = {
      clock: { isHealthy: true, detail: '' },
      disk: { isHealthy: false, detail: 'no inodes are free' },
      ingest: { isHealthy: false, detail: 'a record is set aside' },
    };
    const server = createServer((_request, response) => response.end(JSON.stringify({ components })));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const running = writeRunFile({ dataDir, partnerId: null }, 'worker', {
      dashboard: `http://127.0.0.1:${port}/`,
    });
    const tested: string[] = [];
    const checks: Check[] = ['clock', 'disk', 'archive'].map((name) => ({
      ...{ name, component: name, isInFolder: false },
      run: async () => {
        tested.push(name);
        return { result: 'ok', detail: 'tested', hint: null };
      },
    }));
    const settings = loadSettings({ env: { BILLSYNC_DATA_DIR: dataDir }, cwd: folder });
    const found = await Array.fromAsync(diagnose(settings, { checks })).finally(() => {
      running.remove();
      server.close();
    });
    const by = `worker (pid ${process.pid})`;
    expect(found).toMatchObject([
      { check: 'processes', result: 'failed', detail: `${by}: ingest: a record is set aside`, exit_code: 1 },
      { check: 'clock', result: 'ok', detail: `healthy, says ${by}`, exit_code: 0 },
      { check: 'disk', result: 'failed', detail: `no inodes are free (says ${by})`, exit_code: 1 },
      { check: 'archive', result: 'ok', detail: 'tested' },
    ]);
    expect(tested).toEqual(['archive']);
  });

  test('finds the sandbox of `up --sandbox`', async () => {
    const dataDir = join(folder, 'playing');
    expect(await check('billing service', { BILLSYNC_DATA_DIR: dataDir })).toMatchObject({
      result: 'failed',
      exitCode: 2,
    });
    const note = writeRunFile({ dataDir, partnerId: 'partner-1' }, 'up', { sandbox: 'http://127.0.0.1:1/' });
    const found = await check('billing service', { BILLSYNC_DATA_DIR: dataDir });
    expect(found).toMatchObject({ result: 'ok', detail: expect.stringContaining('the sandbox of') });
    await mkdir(join(dataDir, 'sandbox'));
    expect(sandboxOfUp({}, { BILLSYNC_DATA_DIR: dataDir }, folder)).toBe(join(dataDir, 'sandbox'));
    expect(
      sandboxOfUp({}, { BILLSYNC_DATA_DIR: dataDir, SANDBOX_DATA_DIR: '/elsewhere' }, folder),
    ).toBeNull();
    const named = { SANDBOX_DATA_DIR: '/elsewhere' };
    expect(sandboxOfUp({ dataDir }, named, folder)).toBe(join(dataDir, 'sandbox'));
    expect(sandboxOfUp({ setting: [['BILLSYNC_DATA_DIR', dataDir]] }, {}, folder)).toBe(
      join(dataDir, 'sandbox'),
    );
    const settings = loadSettings({ env: { BILLSYNC_DATA_DIR: dataDir }, cwd: folder });
    expect(await partnerIdOf(settings)).toBe('partner-1');
    note.remove();
    expect(sandboxOfUp({}, { BILLSYNC_DATA_DIR: dataDir }, folder)).toBeNull();
    await expect(partnerIdOf(settings)).rejects.toThrow('BILLSYNC_BASE_URL: is not set');
  });
});

test('a check that never ends fails as unreachable, and those after it are made', async () => {
  const checks: Check[] = [
    { name: 'hangs', isInFolder: false, run: () => new Promise(() => undefined) },
    { name: 'works', isInFolder: false, run: async () => ({ result: 'ok', detail: 'fine', hint: null }) },
  ];
  const found = await Array.fromAsync(diagnose({} as Settings, { checks, limitMs: 20, minMs: 20 }));
  expect(found).toMatchObject([
    { check: 'processes', result: 'ok' },
    { check: 'hangs', result: 'failed', detail: expect.stringContaining('no answer within'), exit_code: 5 },
    { check: 'works', result: 'ok', detail: 'fine' },
  ]);
  expect(exitCodeOf(found)).toBe(5);
});
