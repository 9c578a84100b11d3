import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT } from '../../../cli/errors.ts';
import { createRoleContext } from '../../../cli/roles/run-role.ts';
import { openSavedViews } from '../../../dashboard/pages/saved-views.ts';
import { openClaims, openDisputes } from '../../../finance/disputes/disputes.ts';
import { openAlerts } from '../../../lib/alerts/alert-store.ts';
import { type AuditLog, type AuditNote, openAuditLog } from '../../../lib/audit-log.ts';
import { createLogger } from '../../../lib/log/log.ts';
import { registerUserStore, userStore } from '../../../lib/user-store.ts';
import { openUserFiles } from '../../../warehouse/lake/user-files.ts';
import { aLine } from '../../finance/disputes/a-claim.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { testSettings } from '../../webhook/a-delivery.ts';
import { makeDataDir } from '../support.ts';
import { type LakeServer, type LakeTestSettings, PASSWORD, startLakeServer } from './support.ts';

let server: LakeServer;
let lake: LakeTestSettings;
let machines: readonly string[];
beforeAll(async () => {
  server = await startLakeServer();
  lake = await server.aLake(makeDataDir());
  machines = Array.from({ length: 3 }, () => {
    const dataDir = makeDataDir();
    registerUserStore(dataDir, async () => openUserFiles(lake.warehouse, 'test'));
    return dataDir;
  });
});
afterAll(() => server?.stop());

const NOTE: AuditNote = {
  ...{ by: 'ann', via: 'command', action: 'disputes open', target: ['D-1'], reason: null },
  ...{ outcome: 'begun', detail: '', began: null },
};

const machine = (index: number): string => machines[index] ?? '';
const disputesOn = (dataDir: string) =>
  openDisputes({ dataDir, databasePath: join(dataDir, 'reports.duckdb') });
const claimsOn = async (dataDir: string) => (await disputesOn(dataDir).list()).claims;
const envOf = (dataDir: string) => ({
  BILLSYNC_DATA_DIR: dataDir,
  BILLSYNC_WAREHOUSE: `ducklake:${lake.warehouse.catalog}`,
  BILLSYNC_LAKE_DATA: lake.warehouse.dataPath,
});
const claimOn = (dataDir: string, rowNumber: number) =>
  openClaims(dataDir, [{ ...aLine({ row_number: rowNumber }), hindrance: null }], {
    ...{ note: '', by: 'anna', at: '2026-04-01T00:00:00.000Z' },
  });

test('lists a claim on the other machine, and gives each line to one of two that open at once', async () => {
  const before = (await claimsOn(machine(0))).length;
  await claimOn(machine(0), 1);
  const id = `D-${before + 1}`;
  expect(await claimsOn(machine(1))).toContainEqual(expect.objectContaining({ id, state: 'open' }));
  const both = await Promise.allSettled([claimOn(machine(0), 2), claimOn(machine(1), 2)]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await Promise.all(Array.from({ length: 20 }, (_, index) => claimOn(machine(index % 2), 10 + index)));
  const { claims, problems } = await disputesOn(machine(0)).list();
  const all = before + 22;
  expect([claims.length, new Set(claims.map((claim) => claim.id)).size, problems]).toEqual([all, all, []]);
  const change = (dataDir: string) =>
    disputesOn(dataDir).change({
      claims: [{ id, version: 1 }],
      state: null,
      note: dataDir,
      by: 'ben',
    });
  const changed = await Promise.allSettled([change(machine(0)), change(machine(1))]);
  expect(changed.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
});

test('writes one audit chain that verifies on both machines', async () => {
  const logs = machines.map((dataDir) => openAuditLog(dataDir));
  const before = (await logs[0]?.verify())?.entries ?? 0;
  await Promise.all(Array.from({ length: 20 }, (_, index) => logs[index % 3]?.write(NOTE)));
  const verdicts = await Promise.all(logs.map((log) => log.verify()));
  for (const verdict of verdicts)
    expect(verdict).toEqual({ ...verdicts[0], entries: before + 20, problems: [] });
});

test('names the audit entries that a failover lost, also once others have their numbers', async () => {
  const own = await server.aLake(makeDataDir());
  const [one, two] = [makeDataDir(), makeDataDir()].map((dataDir) => {
    registerUserStore(dataDir, async () => openUserFiles(own.warehouse, 'test'));
    return openAuditLog(dataDir);
  }) as [AuditLog, AuditLog];
  await two.write(NOTE);
  await server.query(own, 'create table saved as select content from billsync.user_files');
  const lost = await one.write(NOTE);
  await server.query(own, 'update billsync.user_files set content = (select content from saved)');
  const named = [expect.stringContaining(`Entry ${lost.number} of ${lost.at}`)];
  expect((await one.verify()).problems).toEqual(named);
  await two.write(NOTE);
  await one.write(NOTE);
  for (const log of [one, two]) expect((await log.verify()).problems).toEqual(named);
});

test('keeps all views that two dashboards save at once', async () => {
  const views = machines.map((dataDir) => openSavedViews(dataDir));
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  await Promise.all(names.map((name, index) => views[index % 3]?.save({ name, address: '/shipments' })));
  expect((await views[0]?.list())?.map(({ name }) => name)).toEqual(names);
});

test('stores rules by a command on one machine for the others, and exports everything', async () => {
  const [one, other] = [machine(0), machine(1)];
  const file = join(one, 'windows.yaml');
  writeFileSync(file, 'windows: [{ carrier: ups, days: soon }]');
  const put = (dataDir = one, ...replaces: string[]) =>
    runCommand(['user-files', 'put', 'claim-windows.yaml', file, ...replaces], { env: envOf(dataDir) });
  expect(await put()).toMatchObject({
    exitCode: EXIT.usage,
    stderr: expect.stringContaining('a number of days'),
  });
  writeFileSync(file, 'windows: [{ carrier: ups, days: 30 }]');
  expect(await put()).toMatchObject({ exitCode: EXIT.done });
  const show = await runCommand(['user-files', 'show', 'claim-windows.yaml'], { env: envOf(other) });
  expect(show.stdout).toBe(readFileSync(file, 'utf8'));
  const replaces = ['--replaces', /Version (\w+)/.exec(show.stderr)?.[1] ?? ''];
  writeFileSync(file, 'windows: [{ carrier: ups, days: 40 }]');
  expect(await put(one, ...replaces)).toMatchObject({ exitCode: EXIT.done });
  const stored = readFileSync(file, 'utf8');
  writeFileSync(file, 'windows: [{ carrier: ups, days: 50 }]');
  for (const refused of [await put(other), await put(other, ...replaces)]) {
    expect(refused.exitCode).toBe(EXIT.checkFailed);
    expect(refused.stderr).toMatch(/- windows.*days: 40.*\+ windows.*days: 50/s);
  }
  const unchanged = await runCommand(['user-files', 'show', 'claim-windows.yaml'], { env: envOf(other) });
  expect(unchanged.stdout).toBe(stored);
  const folder = join(other, 'exported');
  await runCommand(['user-files', 'export', folder], { env: envOf(other) });
  // The folder of a data folder: what was made over the lake is there with a DuckDB file, too.
  const alone = makeDataDir();
  const env = { BILLSYNC_DATA_DIR: alone };
  expect(await runCommand(['user-files', 'import', folder], { env })).toMatchObject({ exitCode: EXIT.done });
  expect(await runCommand(['audit', 'verify'], { env })).toMatchObject({ exitCode: EXIT.done });
  expect(await claimsOn(alone)).toEqual(await claimsOn(one));
});

test('is used by a process that receives its settings from `up`', async () => {
  const dataDir = makeDataDir();
  const settings = { ...testSettings(dataDir), warehouse: lake.warehouse };
  const log = createLogger(settings, 'worker', { write: () => {} });
  const stopping = new AbortController().signal;
  const { alerts } = createRoleContext({ settings, role: 'worker', log, fatal: () => {}, stopping });
  alerts.raise({ key: 'drift', title: 'The warehouse differs' });
  await alerts.close();
  expect((await openAlerts(machine(0))).map(({ key }) => key)).toContain('drift');
});

test('keeps the files of test and production apart', async () => {
  expect(await openUserFiles(lake.warehouse, 'production').list('')).toEqual([]);
});

test('refuses a change by a role that may only read, with the right that it lacks', async () => {
  await claimOn(machine(0), 98);
  await server.query(lake, 'create role only_reads login');
  await server.query(lake, 'grant usage on schema billsync to only_reads');
  await server.query(lake, 'grant select on billsync.user_files to only_reads');
  const catalog = lake.warehouse.catalog.replace('user=lake', 'user=only_reads');
  const reader = makeDataDir();
  registerUserStore(reader, async () => openUserFiles({ ...lake.warehouse, catalog }, 'test'));
  expect(await claimsOn(reader)).toEqual(await claimsOn(machine(0)));
  await expect(claimOn(reader, 99)).rejects.toMatchObject({
    ...{ code: 'catalog-refuses', hint: expect.stringContaining('billsync.user_files') },
    message: expect.stringContaining('permission denied'),
  });
});

test('ends with 5 and the reason while PostgreSQL is away', async () => {
  const own = await startLakeServer();
  const { warehouse } = await own.aLake(makeDataDir());
  await own.stop();
  const dataDir = makeDataDir();
  registerUserStore(dataDir, async () => openUserFiles(warehouse, 'test'));
  const env = { ...envOf(dataDir), BILLSYNC_WAREHOUSE: `ducklake:${warehouse.catalog}` };
  const listed = await runCommand(['disputes', 'list'], { env });
  expect(listed).toMatchObject({ exitCode: EXIT.unreachable, stdout: '' });
  expect(listed.stderr).toMatch(/The lake's catalogue .* cannot be reached/);
  expect(listed.stderr).not.toContain(PASSWORD);
  const store = await userStore(dataDir);
  await expect(store.append('x', () => 'y\n')).rejects.toMatchObject({ code: 'catalog-unreachable' });
});
