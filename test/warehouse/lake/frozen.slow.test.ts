import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Archive } from '../../../archive/archive.ts';

import { createHealth, reportedCheck } from '../../../lib/health/health.ts';
import { KeyedMutex } from '../../../warehouse/duckdb/locks.ts';
import { openLakeDatabase } from '../../../warehouse/lake/attach-lake.ts';
import { readCatalogAddress } from '../../../warehouse/lake/catalog-address.ts';
import { currentGeneration, moveTo } from '../../../warehouse/lake/generation.ts';
import { ingestLake } from '../../../warehouse/lake/lake-store.ts';
import { Ledger } from '../../../warehouse/lake/ledger.ts';
import { lakeCheck } from '../../../worker/checks.ts';
import { startDelayProxy } from '../../bench/support/delay-proxy.ts';
import { memoryAlerts } from '../../support/memory-alerts.ts';
import { aCsv, aWarehouse, loadCsv, makeDataDir } from '../support.ts';
import { type LakeServer, type LakeTestSettings, queryLake, startLakeServer } from './support.ts';

const IDLE_LIMIT_MS = 1_500;
const INVOICE = '11111111-1111-4111-8111-111111111111';
const HOLD = `
  import { Ledger } from ${JSON.stringify(join(import.meta.dirname, '../../../warehouse/lake/ledger.ts'))};
  import { readCatalogAddress } from ${JSON.stringify(join(import.meta.dirname, '../../../warehouse/lake/catalog-address.ts'))};
  const [catalog, idleLimitMs] = process.argv.slice(1);
  const ledger = new Ledger(readCatalogAddress(catalog), { generation: 1, idleLimitMs: Number(idleLimitMs) });
  await ledger.onInvoices(['${INVOICE}'], () => {
    process.stdout.write('held\\n');
    return new Promise((resolve) => setTimeout(resolve, 600_000));
  });
`;

let server: LakeServer;
let settings: LakeTestSettings;
beforeAll(async () => {
  server = await startLakeServer();
});
beforeEach(async () => {
  settings = await server.aLake(makeDataDir());
  const address = readCatalogAddress(settings.warehouse.catalog);
  const ledger = new Ledger(address, { generation: await currentGeneration(address, 'test') });
  await ledger.close();
});
afterAll(() => server?.stop());

const ledgerOf = (options = {}): Ledger =>
  new Ledger(readCatalogAddress(settings.warehouse.catalog), { generation: 1, ...options });

test('takes the invoice from a frozen process, not from a slow one', async () => {
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', HOLD, settings.warehouse.catalog, `${IDLE_LIMIT_MS}`],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ledger = ledgerOf();
  try {
    await once(child.stdout, 'data');
    let isMine = false;
    const taking = ledger.onInvoices([INVOICE], async () => {
      isMine = true;
    });
    await setTimeout(2 * IDLE_LIMIT_MS);
    expect(isMine).toBe(false);
    child.kill('SIGSTOP');
    await taking;
  } finally {
    child.kill('SIGKILL');
    await ledger.close();
  }
});

/** The alerts that are open after the check of the ledger's worker, which repeats it every few seconds. */
function watch(ledger: Ledger) {
  const { alerts, open } = memoryAlerts();
  const health = createHealth();
  const check = reportedCheck(lakeCheck({ blockedBy: () => ledger.blockedBy() }), { health, alerts });
  const isHealthy = () => health.report().components['lake locks']?.isHealthy;
  return { open, isHealthy, run: () => check.run(new AbortController().signal) };
}

test('raises an alert while PostgreSQL accepts connections and does not answer', async () => {
  const { port } = server.postgres;
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket));
  const away = await new Promise<number>((resolve) =>
    silent.listen(0, '127.0.0.1', () => resolve((silent.address() as AddressInfo).port)),
  );
  const catalog = settings.warehouse.catalog.replace(`port=${port}`, `port=${away}`);
  const ledger = new Ledger(readCatalogAddress(catalog), { generation: 1, blockedAfterMs: 200 });
  const { open, isHealthy, run } = watch(ledger);
  await run();
  expect(open.size).toBe(0);
  await setTimeout(300);
  await run();
  expect(open.get('lake/blocked')?.detail).toMatch(/PostgreSQL, which has not answered since \d{4}-/);
  expect(isHealthy()).toBe(false);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
  const proxy = await startDelayProxy(port, 0, away);
  await vi.waitFor(async () => {
    await run();
    expect(open.size).toBe(0);
  }, 60_000);
  await ledger.close();
  await proxy.stop();
});

test('raises an alert that names the holder of a lock', async () => {
  const [holder, waiting] = [ledgerOf({ role: 'rebuild' }), ledgerOf({ blockedAfterMs: 100 })];
  const { open, isHealthy, run } = watch(waiting);
  const [locked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = holder.onInvoices([INVOICE], () => {
    locked.resolve();
    return held.promise;
  });
  await locked.promise;
  const taking = waiting.onInvoices([INVOICE], async () => undefined);
  try {
    await vi.waitFor(async () => {
      await run();
      expect(open.get('lake/blocked')?.detail).toContain(`billsync rebuild ${hostname()} pid ${process.pid}`);
    }, 20_000);
    expect(isHealthy()).toBe(false);
  } finally {
    held.resolve();
  }
  await Promise.all([holding, taking]);
  await run();
  expect(open.size).toBe(0);
  expect(isHealthy()).toBe(true);
  await holder.close();
  await waiting.close();
});

test('workers that wait for one reading of the archive share the next one, with everything they need', async () => {
  const [first, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let readings = 0;
  const endsAfter = (wait: () => Promise<void>) => ({
    [Symbol.asyncIterator]: () => ({
      async next() {
        await wait();
        return { done: true, value: undefined };
      },
    }),
  });
  const archive = {
    events: () =>
      endsAfter(async () => {
        readings += 1;
        first.resolve();
        if (readings === 1) await held.promise;
      }),
    factsAfter: () => endsAfter(async () => undefined),
  } as unknown as Archive;
  const ledgers = [ledgerOf(), ledgerOf(), ledgerOf()];
  const read = (ledger: Ledger | undefined) =>
    ingestLake({ ledger: ledger ?? ledgerOf(), archive, now: new Date(), locks: new KeyedMutex() });
  const reading = read(ledgers[0]);
  await first.promise;
  const waiting = [read(ledgers[1]), read(ledgers[2])];
  const waits =
    "select count(*)::integer as n from pg_locks join pg_database as d on d.oid = database where locktype = 'advisory' and not granted and datname = current_database()";
  await vi.waitFor(async () => expect(await server.query(settings, waits)).toEqual([{ n: 2 }]), 60_000);
  held.resolve();
  await Promise.all([reading, ...waiting]);
  expect(readings).toBe(2);
  await read(ledgers[0]);
  expect(readings).toBe(3);
  for (const ledger of ledgers) await ledger.close();
});

test('registers a writer again after PostgreSQL lost it', async () => {
  const replaced = vi.fn();
  const [ledger, other] = [ledgerOf({ onReplaced: replaced }), ledgerOf()];
  const leave = await ledger.presence('shared');
  const presences = "from pg_locks where locktype = 'advisory' and classid = 8152";
  const ended = async () =>
    (await server.query(settings, `select pg_terminate_backend(pid) ${presences} and granted`)).length;
  await ended();
  await vi.waitFor(async () => expect(await other.others()).toContain(`pid ${process.pid}`), 20_000);
  expect(await other.presence('alone')).toBeNull();
  // A crash of PostgreSQL while it waits for the presence leaves one afterwards, and not several, which would use up the pool.
  while ((await other.presence('alone')) === null) await ended();
  const waiting = await vi.waitFor(async () => {
    const [row] = await server.query(settings, `select pid ${presences} and not granted`);
    return Number(row?.pid ?? expect.fail());
  }, 20_000);
  process.kill(waiting, 'SIGKILL');
  await setTimeout(5_000);
  expect(await ended()).toBe(1);
  expect(replaced).not.toHaveBeenCalled();
  await moveTo(readCatalogAddress(settings.warehouse.catalog), 2);
  await ended();
  await vi.waitFor(() => expect(replaced).toHaveBeenCalledTimes(1), 20_000);
  await leave?.();
  await ledger.close();
  await other.close();
});

test('doubles no row when a process that was frozen goes on merging files that another one has merged', async () => {
  const own = await server.aLake(makeDataDir());
  const t = await aWarehouse({ settings: own });
  for (const cost of ['1', '2', '3']) await loadCsv(t, aCsv([{ 'Billing Cost': cost }]));
  const before = await queryLake(own, 'from shipments');
  const { catalog, dataPath } = own.warehouse;
  const open = () =>
    openLakeDatabase({
      place: { address: readCatalogAddress(catalog), dataPath, generation: 1 },
      ...{ folders: [], temporaryFolder: own.dataDir, memoryLimit: null },
    });
  const merge = "from ducklake_merge_adjacent_files('lake')";
  const [frozen, other] = [await open(), await open()];
  const [merged, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const merging = frozen.transaction(async (session) => {
    await session.statement(merge);
    merged.resolve();
    await thawed.promise;
  });
  await merged.promise;
  await other.transaction((session) => session.statement(merge));
  thawed.resolve();
  await expect(merging).rejects.toThrow(/has compacted it/);
  // DuckLake compares with other commits before its own one, so one in between escapes it.
  const replaced = 'billsync_lake_1.ducklake_files_scheduled_for_deletion';
  expect(await server.query(own, `select data_file_id from ${replaced}`)).toHaveLength(3);
  await expect(server.query(own, `insert into ${replaced} select * from ${replaced}`)).rejects.toThrow(
    /replaced_once/,
  );
  expect(await queryLake(own, 'from shipments')).toEqual(before);
  expect((await t.warehouse.verify({ full: true })).drift).toEqual([]);
  frozen.close();
  other.close();
  await t.close();
});
