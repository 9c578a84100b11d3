/** Small invoices are written with one thread; what may be about very many rows has all of them for as long as it goes on. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openFolderArchive } from '../../../archive/folder-archive.ts';
import { Database } from '../../../warehouse/duckdb/database.ts';
import { migrate } from '../../../warehouse/duckdb/migrate.ts';
import { catchUp } from '../../../warehouse/recover/catch-up.ts';
import { withThreads } from '../../support/processes/one-duckdb-thread.ts';
import { silent } from '../support.ts';

const ALL = 3;

let folder: string;
let database: Database;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'billsync-threads-'));
  database = await withThreads(ALL, () =>
    Database.open({
      path: join(folder, 'a.duckdb'),
      folders: [],
      temporaryFolder: folder,
      memoryLimit: null,
    }),
  );
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

async function threads(): Promise<number> {
  // Planned anew: a setting is part of the plan.
  const [row] = await database.use((session) =>
    session.once("select current_setting('threads')::integer as threads"),
  );
  return Number(row?.threads);
}

test('a database has all threads until the first work that asks for them has ended, then one', async () => {
  expect(await threads()).toBe(ALL);
  expect(await database.withAllThreads(threads)).toBe(ALL);
  expect(await threads()).toBe(1);
  expect(await database.withAllThreads(threads)).toBe(ALL);
  expect(await threads()).toBe(1);
});

test('all threads are there until the last of several works has ended, and behind one that fails there is one', async () => {
  let end = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    end = resolve;
  });
  const long = database.withAllThreads(async () => {
    await held;
    return threads();
  });
  await expect(
    database.withAllThreads(() => database.all('select * from nothing_of_this_name')),
  ).rejects.toThrow('nothing_of_this_name');
  expect(await threads()).toBe(ALL);
  end();
  expect(await long).toBe(ALL);
  expect(await threads()).toBe(1);
});

test('what is asked while the number changes is answered as ever', async () => {
  await database.use((session) =>
    session.script('create table numbers as from range(300_000) as r(n); insert into numbers from numbers'),
  );
  const ask = async (of: number): Promise<unknown> =>
    (
      await database.all(
        `select sum(n)::varchar as sum, count(*)::integer as count, ${of} as of from numbers`,
      )
    )[0];
  const asked = Array.from({ length: 60 }, (_, of) =>
    of % 3 === 0 ? database.withAllThreads(() => ask(of)) : ask(of),
  );
  for (const [of, answer] of (await Promise.all(asked)).entries()) {
    expect(answer).toEqual({ sum: '89999700000', count: 600_000, of });
  }
  expect(await threads()).toBe(1);
});

test('work in a database that is closed meanwhile ends with its own answer', async () => {
  const work = database.withAllThreads(async () => {
    database.close();
    return 'done';
  });
  expect(await work).toBe('done');
  await expect(database.withAllThreads(() => database.all('select 1 as n'))).rejects.toThrow('was closed');
});

test('a warehouse that has caught up with its archive goes on with one thread', async () => {
  await migrate(database, new Date());
  const archive = await openFolderArchive(join(folder, 'archive'));
  await catchUp({ database, archive, log: silent, now: new Date() });
  await archive.close();
  expect(await threads()).toBe(1);
});
