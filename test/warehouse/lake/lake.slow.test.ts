import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerStatus } from '../../../lib/warehouse-requests.ts';
import { diffVersions, explainTracking } from '../../../warehouse/explain-published.ts';
import { openLakeDatabase } from '../../../warehouse/lake/attach-lake.ts';
import { readCatalogAddress } from '../../../warehouse/lake/catalog-address.ts';
import { moveTo } from '../../../warehouse/lake/generation.ts';
import { tidyLake } from '../../../warehouse/lake/lake-store.ts';
import { Ledger } from '../../../warehouse/lake/ledger.ts';
import { dryRunRebuild, openWarehouse, rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import { RebuildLossError } from '../../../warehouse/rebuild.ts';
import type { Warehouse } from '../../../warehouse/warehouse.ts';
import { billsync } from '../../support/processes/billsync.ts';
import { installDuckDbTools } from '../../support/tools/installed-tools.ts';
import { everything, playStory, THIRD } from '../story.ts';
import {
  aCsv,
  anEvent,
  archiveCsv,
  aWarehouse,
  INVOICE,
  loadCsv,
  makeDataDir,
  queryFile,
  settingsFor,
  silent,
  type TestWarehouse,
  tickingClock,
} from '../support.ts';
import {
  type LakeServer,
  type LakeTestSettings,
  lookAtLake,
  PASSWORD,
  publishedPath,
  queryLake,
  startLakeServer,
} from './support.ts';

/** Fewer than usual, because later tests read all rows. */
const PER_CUT = 2_000;

let server: LakeServer;
let settings: LakeTestSettings;
let t: TestWarehouse;
beforeAll(async () => {
  server = await startLakeServer();
  settings = await server.aLake(makeDataDir());
  t = await aWarehouse({ settings, recordsPerCut: PER_CUT });
});
afterAll(async () => {
  await t?.close();
  await server?.stop();
});

async function lakeFiles(): Promise<number> {
  const [row] = await queryLake(
    settings,
    'select count(distinct filename)::integer as n from lake.main.shipment_rows',
  );
  return Number(row?.n);
}

async function standingsIn(warehouse: Warehouse): Promise<readonly LedgerStatus[]> {
  const all = await warehouse.invoices();
  const standings = await warehouse.ledgerStatuses(all.map(({ invoiceId }) => invoiceId));
  return standings.toSorted((a, b) => a.invoiceId.localeCompare(b.invoiceId));
}

// Each test goes on with the lake that the earlier ones have filled.
describe('the warehouse over a lake', { shuffle: false }, () => {
  test('returns the same rows as a single file, and converts to one and back without a difference', async () => {
    await playStory(t);
    expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
    const live = await everything(publishedPath(settings), (sql) => queryLake(settings, sql));
    expect(live.shipments).toHaveLength(4);
    await t.warehouse.close();

    const fileSettings = { ...settingsFor(makeDataDir()), archive: settings.archive };
    const there = await rebuildWarehouse({ settings: fileSettings, archive: t.archive, log: silent });
    const filePath = join(fileSettings.dataDir, 'reports.duckdb');
    expect(await everything(filePath, (sql) => queryFile(filePath, sql))).toEqual(live);
    expect(there.publication).toMatchObject({ invoices: 4, shipments: 4 });
    const file = await openWarehouse({ settings: fileSettings, archive: t.archive, log: silent });
    expect((await file.verify({ full: true })).drift).toEqual([]);
    const standings = await standingsIn(file);
    await file.close();
    rmSync(fileSettings.dataDir, { recursive: true });

    // As a rebuild that was killed leaves it.
    await server.query(settings, 'create schema billsync_2');
    await server.query(settings, 'create table billsync_2.loads (load_id integer)');
    const { sequence } = await (await t.reopen()).publish();
    await t.warehouse.close();
    const back = await rebuildWarehouse({ settings, archive: t.archive, log: silent, now: tickingClock() });
    expect(back).toMatchObject({ loads: 7, movedAside: expect.stringContaining('generation 1') });
    expect(back.publication).toMatchObject({ sequence: sequence + 1 });
    expect(await everything(publishedPath(settings), (sql) => queryLake(settings, sql))).toEqual(live);
    await t.reopen();
    expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
    expect(standings.length).toBeGreaterThan(1);
    expect(await standingsIn(t.warehouse)).toEqual(standings);
  });

  test('stays unchanged when the archive cannot rebuild all of it', async () => {
    await t.warehouse.close();
    const journal = join(settings.dataDir, 'archive/facts/journal.ndjson');
    const facts = readFileSync(journal);
    rmSync(journal);
    const options = { settings, archive: t.archive, log: silent };
    const refused = await rebuildWarehouse(options).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RebuildLossError);
    const { losses } = await dryRunRebuild(options);
    expect((refused as RebuildLossError).outcome.losses).toEqual(losses);
    expect(losses.filter(({ loadId }) => loadId !== null)).toHaveLength(7);
    expect(await server.query(settings, "select 1 from pg_namespace where nspname = 'billsync_3'")).toEqual(
      [],
    );
    writeFileSync(journal, facts);
    expect(await dryRunRebuild(options)).toMatchObject({ loads: 7, losses: [], holdsLess: false });
    await t.reopen();
    expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  });

  test('explains a row and compares versions', async () => {
    const databasePath = publishedPath(settings);
    const [row] = await explainTracking({ databasePath, archive: t.archive, trackingNumber: '1Z1' });
    expect(row).toMatchObject({
      invoiceId: INVOICE,
      version: 2,
      isCurrent: true,
      rowNumber: 2,
      proof: 'hash',
    });
    const { from, to, changes } = await diffVersions({ databasePath, invoiceId: INVOICE });
    expect([from?.version, to?.version, changes.length]).toEqual([1, 2, 2]);
  });

  test('knows which file no report needs any more, and which one it would need again from an earlier day on', async () => {
    const files = await t.warehouse.removableFiles('2999-01-01T00:00:00.000Z');
    const replaced = { invoiceId: INVOICE, why: 'replaced' };
    expect(files).toContainEqual(expect.objectContaining(replaced));
    const counting = (await t.warehouse.invoices({ states: ['loaded'] })).map(
      ({ loadedSha256 }) => loadedSha256,
    );
    expect(files.filter(({ sha256: hash }) => counting.includes(hash))).toEqual([]);
    expect(await t.warehouse.removableFiles('2000-01-01T00:00:00.000Z')).toEqual([]);
  });

  test('answers billsync sql, as a statement and in the shell, with comments on views', async () => {
    const { catalog, dataPath } = settings.warehouse;
    const env = {
      ...{
        BILLSYNC_DATA_DIR: settings.dataDir,
        BILLSYNC_WAREHOUSE: `ducklake:${catalog}`,
        BILLSYNC_LAKE_DATA: dataPath,
      },
      PATH: `${join(await installDuckDbTools(), 'bin')}:${process.env.PATH ?? ''}`,
      PYTHONPATH: await installDuckDbTools(),
    };
    const question = `select count(*)::integer as n, max(normal_zone(carrier_zone)) as zone,
      (select comment from duckdb_views() where view_name = 'shipments') as view,
      (select comment from duckdb_columns() where table_name = 'shipments' and column_name = 'billable_weight') as weight
      from shipments`;
    const answer = await billsync(['sql', question, '--json'], { env });
    expect(answer).toMatchObject({ exitCode: 0, stderr: '' });
    const [row] = JSON.parse(answer.stdout);
    expect(row).toMatchObject({
      view: 'A row per billed shipment of finalized, not voided invoices.',
      weight: 'Weight used for rating; unit in billable_weight_unit',
    });
    expect(row.n).toBeGreaterThan(0);
    const shell = await billsync(['sql'], { env, input: `.mode json\n${question};\n` });
    expect(shell.stderr).toBe('');
    expect(JSON.parse(shell.stdout)).toEqual([row]);
    const tables = JSON.parse((await billsync(['sql', 'show tables', '--json'], { env })).stdout);
    expect(tables).toContainEqual({ name: 'shipments' });
    expect(tables).not.toContainEqual({ name: 'shipment_rows' });
  });

  test('lists what is due to be checked', async () => {
    const request = {
      until: '2026-03-03T00:00:00Z',
      limit: 10,
      recheckDays: 60,
    };
    const due = await t.warehouse.due({ ...request, partnerId: 'p' });
    expect(due.toRecheck.map(({ invoiceId }) => invoiceId)).toContain(INVOICE);
    expect(due.toRetry).toEqual([]);
    expect(due.toRecheck).toHaveLength(3);
    const checked = due.toRecheck.map(({ invoiceId }) => invoiceId);
    await t.warehouse.recordServiceCheck(checked, request.until);
    await t.warehouse.recordServiceCheck([INVOICE], request.until);
    expect((await t.warehouse.due({ ...request, partnerId: 'p' })).toRecheck).toEqual([]);
    expect((await t.warehouse.due({ ...request, partnerId: null })).toRecheck).toEqual([]);
    const days = "select day_of('2026-02-31') as none, day_of('2026-02-28T09:00:00Z')::text as day";
    expect(await server.query(settings, days.replaceAll('day_of', 'billsync_2.day_of'))).toEqual([
      { none: null, day: '2026-02-28 00:00:00' },
    ]);
  });

  test('refuses a broken file and leaves no row of it', async () => {
    const invoiceId = '4e4e4e4e-4e4e-4e4e-8e4e-4e4e4e4e4e4e';
    const outcome = await loadCsv(t, aCsv([{}, { 'Billing Cost': '1.23456' }], invoiceId), { invoiceId });
    expect(outcome).toMatchObject({
      ...{ outcome: 'rejected', findingCount: 1 },
      findings: [{ row: 2, column: 'Billing Cost', value: '1.23456' }],
    });
    expect(await t.warehouse.invoice(invoiceId)).toBeNull();
    expect(await queryLake(settings, 'from shipment_rows anti join loads using (load_id)')).toEqual([]);
  });

  test('checks a file as it would load it, and keeps nothing of it', async () => {
    const check = async (cells: Parameters<typeof aCsv>[0], invoiceId: string) => {
      const file = await archiveCsv(t, aCsv(cells, invoiceId));
      const csvPath = await t.archive.localPath(file.sha256);
      return t.warehouse.check({ invoiceId, file, csvPath, details: null });
    };
    const unheard = '55555555-5555-4555-8555-555555555555';
    expect(await check([{}, { 'Billing Cost': '3' }], unheard)).toMatchObject({
      outcome: 'checked',
      billingCost: '12.1600',
    });
    expect(await check([{ Carrier: '' }], unheard)).toMatchObject({ outcome: 'rejected', findingCount: 1 });
    expect(await check([{}], THIRD)).toEqual({ outcome: 'voided' });
    expect(await t.warehouse.invoice(unheard)).toBeNull();
    expect(await queryLake(settings, 'from shipment_rows anti join loads using (load_id)')).toEqual([]);
  });

  test('loads one file once when several processes load it at once', async () => {
    const invoiceId = '55555555-5555-4555-8555-555555555555';
    const other = await openWarehouse({ settings, archive: t.archive, log: silent });
    const file = await archiveCsv(t, aCsv([{}, {}], invoiceId));
    const request = {
      ...{ invoiceId, sha256: file.sha256, announcedSha256: file.sha256, source: 'event' as const },
      ...{ eventId: null, workflowRunId: null },
    };
    const outcomes = await Promise.all([t.warehouse, other, t.warehouse, other].map((w) => w.load(request)));
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual([
      ...Array(3).fill('already_loaded'),
      'loaded',
    ]);
    expect(
      await queryLake(
        settings,
        `select count(*)::integer as n from shipments where invoice_id = '${invoiceId}'`,
      ),
    ).toEqual([{ n: 2 }]);
    const alone = t.warehouse.alone(() => other.alone(async () => 'at once'));
    expect([await alone, await other.alone(async () => 'after it')]).toEqual([null, 'after it']);
    await other.close();
  });

  test('loads a tolerated file and an invoice without shipments, and proves both', async () => {
    const data = { dataDir: makeDataDir(), csvTolerate: ['line-ends', 'added-columns'] as const };
    const other = await aWarehouse({ settings: { ...(await server.aLake(data.dataDir)), ...data } });
    const [header = '', row = ''] = aCsv([{ 'Service Level': 'Ground' }])
      .toString()
      .split('\r\n');
    expect(await loadCsv(other, Buffer.from(`${header},Fuel\n${row},0.10\n`))).toMatchObject({
      shipments: 1,
    });
    const nothing = Buffer.from(`${header}\r\n`);
    const { sha256: fileHashSha256, sizeBytes: fileSizeBytes } = await archiveCsv(other, nothing);
    const invoiceId = '22222222-2222-4222-8222-222222222222';
    const stated = { invoiceId, totalTransactionCount: 0, invoiceTotalAmount: '0' };
    const event = anEvent('invoice_finalized', { header: stated, fileHashSha256, fileSizeBytes });
    await other.record([event]);
    expect(await loadCsv(other, nothing, { invoiceId })).toMatchObject({ outcome: 'loaded', shipments: 0 });
    expect((await other.warehouse.verify({ full: true })).drift).toEqual([]);
    const kept = 'select added_columns from lake.main.shipment_rows';
    expect(await queryLake(other.settings as LakeTestSettings, kept)).toEqual([
      { added_columns: '{"Fuel":"0.10"}' },
    ]);
    await other.close();
  });

  test('loads small invoices in batches, each with its own result', async () => {
    const filesBefore = await lakeFiles();
    const ids = Array.from({ length: 9 }, (_, n) => `66666666-6666-4666-8666-00000000000${n}`);
    const load = (invoiceId: string, row = {}) => loadCsv(t, aCsv([row, {}], invoiceId), { invoiceId });
    const loaded = await Promise.all(ids.map((id) => load(id)));
    expect(loaded.map((outcome) => outcome.outcome)).toEqual(ids.map(() => 'loaded'));
    expect((await lakeFiles()) - filesBefore).toBeLessThan(ids.length);
    const rows = await queryLake(
      settings,
      `select invoice_id::varchar as id, count(*)::integer as n, sum(row_number)::integer as numbers
        from shipments where invoice_id::varchar like '66666666%' group by all order by id`,
    );
    expect(rows).toEqual(ids.map((id) => ({ id, n: 2, numbers: 3 })));

    const more = ids.map((id) => id.replace('8666', '8777'));
    const mixed = await Promise.all(
      more.map((id, n) => load(id, n === 4 ? { 'Ship Date': '2026-02-30' } : {})),
    );
    expect(mixed.map((outcome) => outcome.outcome)).toEqual(
      more.map((_, n) => (n === 4 ? 'rejected' : 'loaded')),
    );
    expect(mixed[4]).toMatchObject({ findings: [{ row: 1, rule: 'date' }] });
    expect(await queryLake(settings, 'from shipment_rows anti join loads using (load_id)')).toEqual([]);
    expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  });

  test('restricts readers to the lake', async () => {
    const look = await lookAtLake(settings);
    await expect(look.run("select * from read_text('/etc/hostname')")).rejects.toThrow(/disabled/);
    look.closeSync();
    const again = await lookAtLake(settings);
    await expect(again.run("copy (select 1) to '/tmp/billsync-leak.csv'")).rejects.toThrow(/disabled/);
    again.closeSync();
  });

  test('removes rows of a dead writer and merges small files without changing a result', async () => {
    const before = await queryLake(settings, 'from shipments order by all');
    const [{ generation } = {}] = await server.query(settings, 'select generation from billsync.warehouse');
    const address = readCatalogAddress(settings.warehouse.catalog);
    const ledger = new Ledger(address, { generation: Number(generation) });
    const database = await openLakeDatabase({
      place: { address, dataPath: settings.warehouse.dataPath, generation: Number(generation) },
      ...{ folders: [], temporaryFolder: join(settings.dataDir, 'run', 'tmp'), memoryLimit: null },
    });
    // The rows of a writer that died before its ledger committed.
    await database.use((session) =>
      session.script(
        'insert into lake.shipment_rows by name select 900 as load_id, * exclude (load_id) from lake.shipment_rows limit 2',
      ),
    );
    const leave = await ledger.presence('shared');
    const tidied = await tidyLake({
      database,
      ledger,
      now: new Date(Date.now() + 3_600_000),
      keepMs: 0,
      leastFiles: 2,
    });
    await leave?.();
    expect(tidied).toMatchObject({ removedLoads: 1 });
    expect(tidied?.mergedFiles).toBeGreaterThan(2);
    expect(tidied?.removedFiles).toBeGreaterThan(2);
    const [{ files } = {}] = await database.use((session) => session.once('small-files'));
    expect(Number(files)).toBeLessThanOrEqual(2);
    database.close();
    await ledger.close();
    expect(await queryLake(settings, 'from shipments order by all')).toEqual(before);
    expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  });

  test('records a load in the archive after a crash between commit and fact', async () => {
    const invoiceId = '99999999-1111-4111-8111-111111111111';
    const { putFact } = t.archive;
    Object.assign(t.archive, { putFact: () => Promise.reject(new Error('crash between commit and fact')) });
    await expect(loadCsv(t, aCsv([{}], invoiceId), { invoiceId })).rejects.toThrow('crash');
    Object.assign(t.archive, { putFact });
    await t.reopen();
    const facts = await Array.fromAsync(t.archive.facts());
    expect(facts.filter((fact) => fact.kind === 'load' && fact.invoiceId === invoiceId)).toHaveLength(1);
    expect(
      await server.query(settings, 'select load_id from billsync_2.loads where not is_recorded'),
    ).toEqual([]);
  });

  test('refuses a rebuild beside a writer, and commits of a writer of the old lake', async () => {
    const rebuilding = rebuildWarehouse({ settings, archive: t.archive, log: silent });
    await expect(rebuilding).rejects.toMatchObject({ code: 'warehouse-locked' });
    const address = readCatalogAddress(settings.warehouse.catalog);
    await moveTo(address, 7);
    const invoiceId = '77777777-7777-4777-8777-777777777777';
    await expect(loadCsv(t, aCsv([{}], invoiceId), { invoiceId })).rejects.toMatchObject({
      code: 'lake-replaced',
    });
    await moveTo(address, 2);
    expect(await t.warehouse.invoice(invoiceId)).toBeNull();
  });

  test('refuses the catalog of the other environment', async () => {
    const dataDir = makeDataDir();
    const production = { ...settings, dataDir, environment: 'production' as const };
    const opening = openWarehouse({ settings: production, archive: t.archive, log: silent });
    await expect(opening).rejects.toMatchObject({ code: 'environment-mismatch' });
  });

  test('reports an unreachable PostgreSQL without the password, and continues', async () => {
    await server.stop();
    const invoiceId = '88888888-8888-4888-8888-888888888888';
    const attempts = [
      () => loadCsv(t, aCsv([{}], invoiceId), { invoiceId }),
      () => t.warehouse.verify({ full: true }),
      () => t.warehouse.publish(),
      () => queryLake(settings, 'from shipments'),
      () => openWarehouse({ settings, archive: t.archive, log: silent }),
    ];
    for (const attempt of attempts) {
      const error: unknown = await attempt().catch((problem: unknown) => problem);
      expect(error).toBeInstanceOf(Error);
      expect(`${error} ${(error as Error).stack} ${(error as Error).cause}`).not.toContain(PASSWORD);
    }
    await expect(attempts[0]?.()).rejects.toMatchObject({ code: 'catalog-unreachable' });
  });
});
