/** PostgreSQL goes back to an earlier state, and connections come through a pooler: figures stay exact, and nothing is told that is not so. */

import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { EXIT } from '../../../cli/errors.ts';
import { rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { addTo, describeSum, exact, type Sum } from '../../support/published-data.ts';
import { startPgBouncer } from '../../support/tools/pgbouncer.ts';
import {
  aCsv,
  aWarehouse,
  type Cells,
  loadCsv,
  makeDataDir,
  queryFile,
  settingsFor,
  silent,
  type TestWarehouse,
} from '../support.ts';
import { type LakeServer, type LakeTestSettings, queryLake, startLakeServer } from './support.ts';

let server: LakeServer;
let settings: LakeTestSettings;
let t: TestWarehouse;
let books: Map<string, Sum>;
const ended: string[] = [];
beforeAll(async () => {
  server = await startLakeServer();
});
afterAll(() => server?.stop());
beforeEach(async () => {
  books = new Map();
  ended.length = 0;
  settings = await server.aLake(makeDataDir());
  t = await aWarehouse({ settings, onFatal: (error) => ended.push(String(error)) });
});
afterEach(() => t?.close());

const idOf = (letter: string): string => `${letter.repeat(8)}-1111-4111-8111-111111111111`;

/** Loads files of one version each, all at once; the books have the last one of an invoice. */
async function load(files: Readonly<Record<string, readonly Cells[]>>): Promise<void> {
  const loading = Object.entries(files).map(async ([letter, rows]) => {
    books.delete(letter);
    for (const cells of rows) addTo(books, letter, cells['Billing Cost'] ?? '9.16');
    return loadCsv(t, aCsv(rows, idOf(letter)), { invoiceId: idOf(letter) });
  });
  for (const { outcome } of await Promise.all(loading)) expect(outcome).toMatch(/loaded$/);
}

const SUMS = `select left(invoice_id::varchar, 1) as letter, count(*)::integer as n, sum(billing_cost)::varchar as sum
  from shipments group by all order by all`;

async function expectBooks(query = (sql: string) => queryLake(settings, sql)): Promise<void> {
  const found = (await query(SUMS)).map(({ letter, n, sum }) => [
    letter,
    describeSum({ rows: Number(n), tenThousandths: exact(String(sum)) }),
  ]);
  expect(found).toEqual([...books].sort().map(([letter, sum]) => [letter, describeSum(sum)]));
}

async function expectSound(): Promise<void> {
  await expectBooks();
  expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  for (const { state, reason } of await t.warehouse.invoices())
    expect([state, reason]).toEqual(['loaded', null]);
  const numbers =
    'select load_id, count(distinct invoice_id) as n from shipment_versions group by all having n > 1';
  expect(await queryLake(settings, numbers)).toEqual([]);
}

test('repeats loads that a failover lost, under numbers of their own, beside a writer that lived on', async () => {
  await load({ a: [{ 'Billing Cost': '1' }], b: [{}, {}] });
  await server.postgres.save();
  await load({ a: [{ 'Billing Cost': '2' }, {}] });
  await load({ c: [{ 'Billing Cost': '3' }], d: [{ 'Billing Cost': '4' }, {}] });
  await server.postgres.goBack();
  // The sequence has gone back, too: these take the numbers, and one the version, of lost loads.
  await load({ e: [{ 'Billing Cost': '5' }, {}], d: [{ 'Billing Cost': '4' }, {}] });
  await load({ a: [{ 'Billing Cost': '6' }] });
  await t.warehouse.ingestArchive();
  expect(ended).toEqual([expect.stringMatching(/has lost \d loads that the archive records/)]);
  await t.reopen();
  await expectSound();

  const rebuilt = await t.rebuild();
  expect(rebuilt.losses).toEqual([]);
  await expectSound();
  const file = { ...settingsFor(makeDataDir()), archive: settings.archive };
  await rebuildWarehouse({ settings: file, archive: t.archive, log: silent });
  await expectBooks((sql) => queryFile(join(file.dataDir, 'reports.duckdb'), sql));
});

test('a rebuild repairs a lake whose restored catalogue is older than its files', async () => {
  expect(await t.rebuild()).toMatchObject({ movedAside: null });
  await load({ a: [{}], b: [{}, {}] });
  await server.postgres.save();
  await load({ c: [{}] });
  await t.rebuild();
  await t.rebuild();
  await server.postgres.goBack();
  await t.reopen();
  const { drift } = await t.warehouse.verify({ full: true });
  expect(new Set(drift.map(({ rule }) => rule))).toEqual(new Set(['rows-unreadable']));
  await t.rebuild();
  await expectSound();
});

test('counts rows once that a load left behind, whatever finds them', async () => {
  await load({ a: [{}], b: [{}, {}], c: [{ 'Billing Cost': '3' }] });
  await t.warehouse.close();
  // As after a failure between the two commits of a load.
  const without = `delete from billsync_1.loads where invoice_id <> '${idOf('a')}'`;
  await server.query(settings, without);
  await server.query(settings, `${without.replace('loads', 'invoice_state')}`);
  await server.query(settings, "insert into billsync_1.ingest_cursors values ('loads', '')");
  await t.reopen();
  await expectSound();

  await server.query(settings, 'alter sequence billsync_1.load_ids restart with 1');
  const next = (): Promise<void> => load({ d: [{ 'Billing Cost': '7' }, {}] });
  for (const number of [1, 2, 3]) await expect(next()).rejects.toThrow(`under load id ${number}`);
  await next();
  await expectSound();

  const doubled = `insert into billsync_lake_1.ducklake_data_file select (row).* from (
    select jsonb_populate_record(f, jsonb_build_object('data_file_id', 9000, 'file_order', 9000)) as row
    from billsync_lake_1.ducklake_data_file as f where end_snapshot is null order by data_file_id limit 1) as copied`;
  await server.query(settings, doubled);
  const { drift } = await t.warehouse.verify({ full: false });
  const twice = drift.find(({ rule }) => rule === 'rows');
  const [, rows, loadId] = /^(\d+) of load (\d+)$/.exec(String(twice?.expected)) ?? [];
  expect(Number(twice?.found)).toBe(2 * Number(rows));
  const owner = `select invoice_id::text as id from billsync_1.loads where load_id = ${loadId}`;
  expect(await server.query(settings, owner)).toEqual([{ id: twice?.invoiceId }]);
});

test('finds its ledgers through a pooler that drops the options of a connection, and makes no others', async () => {
  await load({ a: [{}, {}], b: [{ 'Billing Cost': '3' }] });
  await t.warehouse.publish();
  await t.warehouse.close();
  const { catalog, dataPath: BILLSYNC_LAKE_DATA } = settings.warehouse;
  const verifyThrough = async (poolMode: string) => {
    const pooler = await startPgBouncer(server.postgres.port, poolMode);
    const BILLSYNC_WAREHOUSE = `ducklake:${catalog.replace(/port=\d+/, `port=${pooler.port}`)}`;
    const env = { BILLSYNC_DATA_DIR: settings.dataDir, BILLSYNC_WAREHOUSE, BILLSYNC_LAKE_DATA };
    const verified = await runCommand(['verify', '--quick'], { env });
    await pooler.stop();
    return verified;
  };
  const verified = await verifyThrough('session');
  expect(verified, verified.stderr).toMatchObject({ exitCode: EXIT.done });
  for (const poolMode of ['transaction', 'statement']) {
    const refused = await verifyThrough(poolMode);
    expect(refused).toMatchObject({ exitCode: EXIT.usage, stderr: expect.stringContaining('session mode') });
  }
  const tables = "select schemaname from pg_tables where tablename = 'loads'";
  expect(await server.query(settings, tables)).toEqual([{ schemaname: 'billsync_1' }]);
  await t.reopen();
  await expectSound();
});

test('does not make ledgers again where there were some', async () => {
  await load({ a: [{}] });
  await t.warehouse.close();
  await server.query(settings, 'alter schema billsync_lake_1 rename to elsewhere');
  await expect(t.reopen()).rejects.toThrow(/lake|catalog/i);
  await server.query(settings, 'alter schema billsync_1 rename to aside');
  await expect(t.reopen()).rejects.toMatchObject({ code: 'ledgers-missing' });
  await server.query(settings, 'drop table billsync.warehouse');
  await server.query(settings, 'alter schema aside rename to billsync_1');
  await expect(t.reopen()).rejects.toThrow(/billsync\.warehouse/);
  expect(
    await server.query(settings, "select nspname from pg_namespace where nspname like 'billsync%'"),
  ).toHaveLength(2);
  for (const schema of ['billsync', 'billsync_1', 'elsewhere']) {
    await server.query(settings, `drop schema ${schema} cascade`);
  }
  await t.reopen();
  await expectSound();
});
