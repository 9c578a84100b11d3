/** Short variants of the violent tests (`npm run chaos -- warehouse-kills`, `warehouse-damage`): the same, fewer rounds. */

import { copyFileSync, cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { openWarehouse } from '../../warehouse/open-warehouse.ts';
import { runDamage } from '../chaos/warehouse-damage.ts';
import { runKills } from '../chaos/warehouse-kills.ts';
import { withAllThreads } from '../support/processes/one-duckdb-thread.ts';
import { aWorkshop, inspect, kill, SOUND, startWriter, workshopIn } from './chaos.ts';
import { aCsv, aWarehouse, loadCsv, makeDataDir, settingsFor, silent } from './support.ts';

describe('kill -9 of the writer', () => {
  test('keeps every promised load, whole and once', async () => {
    const result = await withAllThreads(() => runKills({ kills: 3, seed: 7 }));
    expect(result).toMatchObject({ ...SOUND, inconsistent: [] });
    expect(result.publications).toBeGreaterThan(0);
    expect(result.loads).toBeGreaterThan(0);
    expect(result.batches).toBeGreaterThan(0);
  });
});

describe('a full disk', () => {
  test('fails the load, keeps the others, and continues when there is space', async () => {
    const workshop = await aWorkshop({ invoices: 100, rows: 300 });
    const writer = await startWriter(workshop, { seed: 3, mode: 'loads', largestFileKb: 2_000 });
    const code = await new Promise((resolve) => writer.once('exit', resolve));
    expect(code).toBe(9);
    expect(await inspect(workshop)).toMatchObject(SOUND);
    const again = await startWriter(workshop, { seed: 4, mode: 'loads' });
    await sleep(1_000);
    await kill(again);
    expect(await inspect(workshop)).toMatchObject(SOUND);
    workshop.remove();
  });
});

describe('a damaged file', () => {
  test('is detected and rebuilt from the archive', async () => {
    const result = await runDamage({ flips: 3, seed: 11 });
    expect(result.wrongAnswers).toEqual([]);
    expect(result.rebuilt).toBe(result.found);
  });

  test.each(['before_truncate', 'before_header', 'after_free_list_write', 'before_wal_finish'] as const)(
    'a checkpoint that dies %s leaves everything that was committed',
    async (point) => {
      const t = await aWarehouse();
      await loadCsv(t, aCsv());
      await t.warehouse.close();
      await dieInCheckpoint(join(t.dataDir, 'warehouse.duckdb'), point);
      const warehouse = await openWarehouse({ settings: t.settings, archive: t.archive, log: silent });
      expect((await warehouse.verify({ full: true })).drift).toEqual([]);
      expect(await warehouse.invoices()).toMatchObject([{ state: 'loaded', shipments: 1 }]);
      await warehouse.close();
      await t.close();
    },
  );
});

describe('a damaged WAL', () => {
  test('of another warehouse is refused and rebuilt', async () => {
    const [one, other] = [await liveCopies(), await liveCopies()];
    const workshop = one.copy();
    const foreign = other.copy();
    copyFileSync(
      join(foreign.dataDir, 'warehouse.duckdb.wal'),
      join(workshop.dataDir, 'warehouse.duckdb.wal'),
    );
    const archive = await openFolderArchive(join(workshop.dataDir, 'archive'));
    const opening = openWarehouse({ settings: settingsFor(workshop.dataDir), archive, log: silent });
    await expect(opening).rejects.toMatchObject({ code: 'warehouse-corrupt' });
    await archive.close();
    expect(await inspect(workshop)).toMatchObject({ ...SOUND, loads: one.loads });
    expect(workshop.rebuilds).toEqual(['inspect']);
    for (const each of [workshop, foreign, one, other]) each.remove();
  });
});

/** A checkpoint that stops at a point of its own, as a crash there would. */
async function dieInCheckpoint(path: string, point: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(`set debug_checkpoint_abort = '${point}'`);
  await connection.run('delete from internal.verification_log');
  await connection.run(
    "insert into internal.verification_log select 999999, '2026-01-01'::timestamp from range(10000)",
  );
  await expect(connection.run('checkpoint')).rejects.toThrow();
  connection.closeSync();
  instance.closeSync();
}

async function liveCopies() {
  // DuckDB recognizes a foreign WAL by an id that both files got when they were created.
  const t = await aWarehouse({}, false);
  await t.warehouse.publish();
  for (let number = 0; number < 8; number += 1) {
    const invoiceId = `11111111-1111-4111-8111-${`${number}`.padStart(12, '0')}`;
    await loadCsv(t, aCsv([{}, {}], invoiceId), { invoiceId });
  }
  const kept = makeDataDir();
  cpSync(t.dataDir, kept, { recursive: true });
  await t.close();
  expect(existsSync(join(kept, 'warehouse.duckdb.wal'))).toBe(true);
  return {
    loads: 8,
    /** A folder as a crash would leave it: the file as of its last checkpoint, the rest in the WAL. */
    copy() {
      const dataDir = makeDataDir();
      cpSync(kept, dataDir, { recursive: true });
      rmSync(join(dataDir, 'warehouse.lock'), { force: true });
      for (const name of readdirSync(dataDir)) if (name.endsWith('.tmp')) rmSync(join(dataDir, name));
      return workshopIn(dataDir);
    },
    remove: () => rmSync(kept, { recursive: true, force: true }),
  };
}
