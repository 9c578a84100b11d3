import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { describeError, EXIT } from '../../../cli/errors.ts';
import { createHealth } from '../../../lib/health/health.ts';
import { createMetrics } from '../../../lib/metrics.ts';
import { noticePublication } from '../../../warehouse/lake/lake-reader.ts';
import type { SetAside } from '../../../warehouse/ledger/ingest.ts';
import { openWarehouse, rebuildWarehouse } from '../../../warehouse/open-warehouse.ts';
import { openOrRebuild } from '../../../worker/open-or-rebuild.ts';
import { anArchivedEvent, anEvent } from '../../archive/an-event.ts';
import { startDelayProxy } from '../../bench/support/delay-proxy.ts';
import { memoryAlerts } from '../../support/memory-alerts.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { aCsv, aWarehouse, INVOICE, loadCsv, makeDataDir, silent, type TestWarehouse } from '../support.ts';
import {
  type LakeServer,
  type LakeTestSettings,
  publishedPath,
  queryLake,
  startLakeServer,
} from './support.ts';

const SECOND = '22222222-2222-4222-8222-222222222222';

let server: LakeServer;
let settings: LakeTestSettings;
let t: TestWarehouse;
beforeAll(async () => {
  server = await startLakeServer();
});
beforeEach(async () => {
  settings = await server.aLake(makeDataDir());
  t = await aWarehouse({ settings, role: 'worker' });
  await loadCsv(t, aCsv([{ 'Billing Cost': '5' }]));
  await loadCsv(t, aCsv([{ 'Billing Cost': '7' }], SECOND), { invoiceId: SECOND });
});
afterEach(() => t?.close());
afterAll(() => server?.stop());

test('names host, process and time of the writer that blocks a rebuild', async () => {
  const refused = describeError(await failureOf(rebuild(settings)));
  expect(refused.exitCode).toBe(EXIT.locked);
  expect(refused.what).toContain(`billsync worker ${hostname().slice(0, 30)} pid ${process.pid}`);
  expect(refused.what).toMatch(/from 127\.0\.0\.1, since \d{4}-\d\d-\d\dT[\d:]+Z, PostgreSQL's process \d+/);
});

test('names the writer that blocks a purge and removes nothing', async () => {
  const env = {
    BILLSYNC_DATA_DIR: settings.dataDir,
    BILLSYNC_WAREHOUSE: `ducklake:${settings.warehouse.catalog}`,
    BILLSYNC_LAKE_DATA: settings.warehouse.dataPath,
  };
  const purge = (...flags: string[]) => runCommand(['purge', '--before', '2019-01-01', ...flags], { env });
  const refused = await purge('--reason', 'seven years', '--yes');
  expect(refused).toMatchObject({ exitCode: EXIT.locked, stdout: '' });
  expect(refused.stderr).toContain(`billsync worker ${hostname().slice(0, 30)} pid ${process.pid}`);
  expect(await purge('--dry-run')).toMatchObject({ exitCode: EXIT.done });
});

test('waits for PostgreSQL when a worker starts without it, and ends for an unknown database', async () => {
  const away = await freePort();
  const port = Number(/port=(\d+)/.exec(settings.warehouse.catalog)?.[1]);
  const at = (catalog: string) => ({
    ...settings,
    dataDir: makeDataDir(),
    warehouse: { ...settings.warehouse, catalog },
  });
  const health = createHealth();
  const { alerts, open: raised } = memoryAlerts();
  const open = (lake: LakeTestSettings) =>
    openOrRebuild({
      settings: lake,
      archive: t.archive,
      log: silent,
      health,
      alerts,
      metrics: createMetrics('worker'),
    });
  const opening = open(at(settings.warehouse.catalog.replace(`port=${port}`, `port=${away}`)));
  await vi.waitFor(() => expect([...raised.keys()]).toEqual(['warehouse']), 30_000);
  expect(health.report().components.warehouse).toMatchObject({ isHealthy: false });
  const proxy = await startDelayProxy(port, 0, away);
  await (await opening).close();
  await proxy.stop();
  expect(raised.size).toBe(0);
  await expect(open(at(settings.warehouse.catalog.replace('dbname=lake', 'dbname=no_lake')))).rejects.toThrow(
    /does not exist/,
  );
});

test('an opening that loses PostgreSQL at any message has an error for which a worker waits', async () => {
  const { catalog } = settings.warehouse;
  const proxy = await startDelayProxy(server.postgres.port, 0);
  const through = {
    ...settings,
    dataDir: makeDataDir(),
    warehouse: { ...settings.warehouse, catalog: catalog.replace(/port=\d+/, `port=${proxy.port}`) },
  };
  proxy.endAt(Number.POSITIVE_INFINITY);
  await (await open(through)).close();
  const messages = proxy.endAt(1);
  expect(messages).toBeGreaterThan(100);
  // The first ones are statements of our own; an attempt of DuckDB to connect takes seconds.
  for (let at = 1; at < messages - 12; at += at < 23 ? 1 : 13) {
    proxy.endAt(at);
    const error = await failureOf(open(through));
    expect([at, describeError(error), error]).toMatchObject([
      at,
      { exitCode: EXIT.unreachable },
      { code: 'catalog-unreachable' },
    ]);
  }
  await proxy.stop();
});

test('a verification waits for a free connection', async () => {
  // Connections of the warehouse that are not used end after two seconds.
  await sleep(3_000);
  const { catalog } = settings.warehouse;
  const connectionString = `postgresql://lake@127.0.0.1:${/port=(\d+)/.exec(catalog)?.[1]}/${/dbname=(\w+)/.exec(catalog)?.[1]}`;
  const clients: pg.Client[] = [];
  const takeAll = async (): Promise<void> => {
    for (;;) {
      const client = new pg.Client({ connectionString });
      client.on('error', () => undefined);
      await client.connect();
      clients.push(client);
    }
  };
  await expect(takeAll()).rejects.toThrow(/too many clients/);
  let isOver = false;
  const verifying = t.warehouse.verify({ full: true }).finally(() => {
    isOver = true;
  });
  await sleep(2_000);
  expect(isOver).toBe(false);
  await Promise.all(clients.map((client) => client.end()));
  expect((await verifying).drift).toEqual([]);
});

test('is readable from a machine without a worker', async () => {
  const elsewhere = { ...settings, dataDir: makeDataDir() };
  const before = { ...(await server.aLake(makeDataDir())), dataDir: makeDataDir() };
  await expect(queryLake(before, 'from shipments')).rejects.toMatchObject({ code: 'not-published' });
  expect(await queryLake(elsewhere, 'select count(*)::integer as n from shipments')).toEqual([{ n: 2 }]);
  const path = publishedPath(elsewhere);
  const changedAt = (): number => statSync(path).mtimeMs;
  await noticePublication(path, elsewhere.warehouse);
  const madeAt = changedAt();
  await t.warehouse.publish();
  await noticePublication(path, elsewhere.warehouse);
  expect(changedAt()).toBeGreaterThan(madeAt);
  const exported = await runCommand(['export', '--output', join(elsewhere.dataDir, 'out')], {
    env: {
      BILLSYNC_DATA_DIR: makeDataDir(),
      BILLSYNC_WAREHOUSE: `ducklake:${settings.warehouse.catalog}`,
      BILLSYNC_LAKE_DATA: settings.warehouse.dataPath,
    },
  });
  expect(exported).toMatchObject({ exitCode: EXIT.done });
});

test('refuses a data path other than the one of the files', async () => {
  const elsewhere = join(settings.dataDir, 'elsewhere');
  const moved: LakeTestSettings = {
    ...settings,
    warehouse: { ...settings.warehouse, dataPath: elsewhere },
  };
  const refused = describeError(await failureOf(open(moved)));
  expect(refused.exitCode).toBe(EXIT.usage);
  expect(refused.subject).toContain(`BILLSYNC_LAKE_DATA is ${elsewhere}`);
  expect(refused.subject).toContain(`lie in ${settings.warehouse.dataPath};`);
});

test('sets aside a record that PostgreSQL refuses, and repairs unusable text', async () => {
  const reported: SetAside[] = [];
  const other = await openWarehouse({
    ...{ settings, archive: t.archive, log: silent },
    onSetAside: (records) => reported.push(...records),
  });
  const events = ['a1', 'b2', 'c3', 'd4'].map((eventId, i) => {
    const event = anEvent({ eventId });
    const invoice = { ...event.invoice, invoiceId: `${i}`.repeat(8).concat('-3333-4333-8333-333333333333') };
    return anArchivedEvent({ eventId, event: { ...event, invoice } });
  });
  const [half, , late] = events;
  for (const event of events) await t.archive.putEvent(event);
  const rewrite = (eventId: string, from: string, to: string): void => {
    const path = join(settings.dataDir, 'archive/events', eventId, `${eventId}.json`);
    writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
  };
  // As a version before this one kept it.
  rewrite('a1', '"invoiceNumber":"INV-1"', '"invoiceNumber":"\\ud800\\u0000"');
  rewrite('b2', '"event":{', '"event":{{');
  rewrite('c3', late?.receivedAt ?? '', '0000-01-01T00:00:00Z');
  await other.ingestArchive();
  const number = 'select invoice_number as number from billsync_1.invoice_state where invoice_id =';
  expect(await server.query(settings, `${number} '${half?.event?.invoice.invoiceId}'`)).toEqual([
    { number: '\ufffd\ufffd' },
  ]);
  expect(
    (await other.invoices()).filter(({ invoiceId }) => invoiceId.endsWith('-333333333333')),
  ).toHaveLength(2);
  expect(reported.map(({ place }) => place).sort()).toEqual([
    'event c3, received 0000-01-01T00:00:00Z',
    'events/b2/b2.json',
  ]);
  const { drift } = await other.verify({ full: true });
  expect(drift.map(({ rule }) => rule).sort()).toEqual(['event-unreadable', 'record-set-aside']);
  await other.close();
});

test('reports a damaged or missing file with its invoice, proves the others, and is rebuilt', async () => {
  const folder = join(settings.warehouse.dataPath, 'generation-1', 'main', 'shipment_rows');
  const [first = ''] = readdirSync(folder).sort();
  const path = join(folder, first);

  writeFileSync(path, 'no Parquet');
  const damaged = await t.warehouse.verify({ full: true });
  expect(damaged).toMatchObject({ invoices: 2, filesRead: 1 });
  expect(damaged.drift).toEqual([
    {
      invoiceId: INVOICE,
      rule: 'rows-unreadable',
      expected: '1 rows of load 1',
      found: expect.stringMatching(`The lake's file ${path} is damaged .*billsync rebuild`),
    },
  ]);

  rmSync(path);
  // DuckDB keeps what it read of a file.
  const gone = await (await t.reopen()).verify({ full: true });
  expect(gone.drift).toMatchObject([
    { invoiceId: INVOICE, found: expect.stringContaining(`${path} is gone`) },
  ]);
  const look = describeError(await failureOf(queryLake(settings, 'select sum(billing_cost) from shipments')));
  expect(look).toMatchObject({
    exitCode: EXIT.nothingMatched,
    what: `The lake's file ${path} is gone.`,
    hint: expect.stringContaining('billsync rebuild'),
  });

  await t.warehouse.close();
  await rebuild(settings);
  expect((await (await t.reopen()).verify({ full: true })).drift).toEqual([]);
  expect(await queryLake(settings, 'select sum(billing_cost)::varchar as sum from shipments')).toEqual([
    { sum: '12.0000' },
  ]);
});

test('lets a writer wait while another process has the lake alone', async () => {
  await t.warehouse.close();
  const alone = await open(settings, { isAlone: true });
  let isOpen = false;
  const second = open(settings).then((warehouse) => {
    isOpen = true;
    return warehouse;
  });
  const waiting = "select pid from pg_locks where locktype = 'advisory' and not granted";
  await expect.poll(() => server.query(settings, waiting)).toHaveLength(1);
  expect(isOpen).toBe(false);
  await alone.close();
  await (await second).close();
});

function open(wanted: LakeTestSettings, how: { readonly isAlone?: boolean } = {}) {
  return openWarehouse({ settings: wanted, archive: t.archive, log: silent, ...how });
}

function rebuild(wanted: LakeTestSettings) {
  return rebuildWarehouse({ settings: wanted, archive: t.archive, log: silent });
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => expect.unreachable('it was to fail'),
    (error: unknown) => error,
  );
}
