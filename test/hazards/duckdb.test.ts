/** Our own use of DuckDB stays within what docs/hazards.md allows. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Database } from '../../warehouse/duckdb/database.ts';
import type { Session } from '../../warehouse/duckdb/session.ts';
import { testFolder } from '../support/folders.ts';

let folder: string;
let instance: DuckDBInstance;
let connection: DuckDBConnection;
beforeEach(async () => {
  folder = testFolder();
  instance = await DuckDBInstance.create(join(folder, 'h.duckdb'));
  connection = await instance.connect();
});
afterEach(() => {
  connection.closeSync();
  instance.closeSync();
});

async function rows(sql: string): Promise<unknown[][]> {
  return (await connection.runAndReadAll(sql)).getRowsJson() as unknown[][];
}

function csv(text: string | Buffer): string {
  const path = join(folder, 'f.csv');
  writeFileSync(path, text);
  return path;
}

const TWO =
  "columns = {'a': 'VARCHAR', 'b': 'VARCHAR'}, auto_detect = false, header = true, delim = ',', quote = '\"'";

describe('transactions', () => {
  test('stores nothing of a failed transaction (hazard 9)', async () => {
    const path = join(folder, 'ours.duckdb');
    const database = await Database.open({ path, folders: [], temporaryFolder: folder, memoryLimit: null });
    await database.use((session) => session.statement('create table t (a integer)'));
    for (const failing of ["insert into t select error('no')::integer", 'insert into nowhere values (1)']) {
      const transaction = database.transaction(async (session) => {
        await session.statement('insert into t values (1)');
        await session.statement(failing);
      });
      await expect(transaction).rejects.toThrow();
    }
    const [row] = await database.use((session) => session.statement('select count(*)::int as n from t'));
    expect(row).toEqual({ n: 0 });
    database.close();
  });
});

describe('files', () => {
  test('has no secondary index and no key on the rows (hazard 10)', async () => {
    const { aWarehouse, queryFile } = await import('../warehouse/support.ts');
    const t = await aWarehouse();
    const { path } = await t.warehouse.publish();
    expect(await queryFile(path, 'select * from duckdb_indexes()')).toEqual([]);
    const keys =
      "select table_name from duckdb_constraints() where constraint_type in ('PRIMARY KEY', 'UNIQUE') order by 1";
    expect((await queryFile(path, keys)).map((row) => row.table_name)).toEqual([
      'event_keys',
      'ingest_cursors',
      'invoice_keys',
      // A row for each damaged record: a handful, or none.
      'set_aside',
    ]);
    await t.close();
  });

  test('opens a file once in a process (hazard 11)', async () => {
    const options = {
      path: join(folder, 'ours.duckdb'),
      folders: [],
      temporaryFolder: folder,
      memoryLimit: null,
    };
    const database = await Database.open(options);
    await expect(Database.open(options)).rejects.toMatchObject({ code: 'warehouse-locked' });
    database.close();
    (await Database.open(options)).close();
  });

  test('repeats a checkpoint that DuckDB refuses while a reader clears a commit', async () => {
    const database = await Database.open({
      path: join(folder, 'ours.duckdb'),
      folders: [],
      temporaryFolder: folder,
      memoryLimit: null,
    });
    await database.use((session) =>
      session.script(
        'create table t (x integer primary key, y integer); insert into t select range, 0 from range(200000)',
      ),
    );
    let isOver = false;
    const readers = Array.from({ length: 3 }, () =>
      database.use(async (session) => {
        while (!isOver) await session.statement('select count(*) from t where x = 5');
      }),
    );
    const change = (session: Session, x: number): Promise<unknown> =>
      session.transaction(async () => {
        await session.statement('update t set y = y + 1 where x between $x and $x + 500', { x });
        await session.statement('delete from t where x = 100000 + $x', { x });
      });
    try {
      await database.use(async (session) => {
        const refusals: unknown[] = [];
        for (let x = 0; refusals.length === 0; x += 1) {
          await change(session, x);
          await session.statement('checkpoint').catch((error: unknown) => refusals.push(error));
        }
        expect(refusals).toEqual([
          expect.objectContaining({ message: expect.stringContaining('other write transactions active') }),
        ]);
        for (let x = 1; x <= 60; x += 1) {
          await change(session, -x);
          await session.checkpoint();
        }
      });
    } finally {
      isOver = true;
      await Promise.all(readers);
      database.close();
    }
  });

  test('reads its own folders and nothing else (hazard 17)', async () => {
    const outside = csv('a,b\r\n1,x\r\n');
    expect(await rows(`select count(*)::int from read_csv('${outside}', ${TWO})`)).toEqual([[1]]);
    expect(await rows("select current_setting('enable_external_access')")).toEqual([[true]]);
    const inside = mkdtempSync(join(folder, 'inside-'));
    const database = await Database.open({
      path: join(inside, 'ours.duckdb'),
      folders: [inside],
      temporaryFolder: inside,
      memoryLimit: null,
    });
    const escapes = [
      `select * from read_csv('${outside}')`,
      `select * from read_text('/etc/passwd')`,
      `select * from glob('/etc/*')`,
      `select * from '${outside}'`,
      `attach '${join(folder, 'other.duckdb')}' as o`,
      `copy (select 1) to '${join(folder, 'out.csv')}'`,
      `export database '${join(folder, 'out')}'`,
      'install httpfs',
      'load httpfs',
      `load '${join(folder, 'x.duckdb_extension')}'`,
      'set enable_external_access = true',
      'set lock_configuration = false',
      `set allowed_directories = ['/']`,
      `set home_directory = '/'`,
      `set temp_directory = '/tmp'`,
      `set memory_limit = '64GB'`,
      'set threads = 2',
      `set allowed_configs = ['memory_limit']`,
      `pragma enable_logging`,
    ];
    for (const attempt of escapes) {
      const trying = database.use((session) => session.statement(attempt));
      await expect(trying, attempt).rejects.toThrow();
    }
    database.close();
  });
});
