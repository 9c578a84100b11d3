/**
 * What DuckDB does that one would not expect, each reproduced on the version we pin: when an upgrade changes one of
 * these, the code that guards against it can be looked at again.
 */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DuckDBConnection, DuckDBDecimalValue, DuckDBInstance, version } from '@duckdb/node-api';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Database } from '../../warehouse/duckdb/database.ts';
import type { Session } from '../../warehouse/duckdb/session.ts';

let folder: string;
let instance: DuckDBInstance;
let connection: DuckDBConnection;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'billsync-hazards-'));
  instance = await DuckDBInstance.create(join(folder, 'h.duckdb'));
  connection = await instance.connect();
});
afterEach(() => {
  connection.closeSync();
  instance.closeSync();
  rmSync(folder, { recursive: true, force: true });
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

describe('reading CSV', () => {
  test('hazard 1: new_line answers no rows of a good file', async () => {
    const path = csv('a,b\r\n1,x\r\n');
    expect(
      await rows(
        `select count(*)::int from read_csv('${path}', ${TWO}, new_line = '\\r\\n', strict_mode = true)`,
      ),
    ).toEqual([[0]]);
    expect(await rows(`select count(*)::int from read_csv('${path}', ${TWO}, strict_mode = true)`)).toEqual([
      [1],
    ]);
  });

  test('hazard 3: names in the header are not compared', async () => {
    const path = csv('b,a\r\n1,x\r\n');
    expect(await rows(`select a, b from read_csv('${path}', ${TWO})`)).toEqual([['1', 'x']]);
  });

  test('hazard 5: count(*) reads no column and sees no bad row', async () => {
    const path = csv('a\r\n1\r\nx\r\n');
    const typed = `read_csv('${path}', columns = {'a': 'INTEGER'}, auto_detect = false, header = true)`;
    expect(await rows(`select count(*)::int from ${typed}`)).toEqual([[2]]);
    await expect(rows(`select a from ${typed}`)).rejects.toThrow(/Conversion Error/i);
  });

  test('hazard 6: a NUL passes', async () => {
    const path = csv('a,b\r\n1,x\0y\r\n');
    expect(await rows(`select length(b)::int from read_csv('${path}', ${TWO})`)).toEqual([[3]]);
  });

  test.each([
    ['a reordered header', 'b,a\r\n1,x\r\n2,y\r\n', 2],
    ['a missing header, whose first row is lost', '1,x\r\n2,y\r\n', 1],
    ['a blank line', 'a,b\r\n1,x\r\n\r\n2,y\r\n', 2],
    ['a stray quote', 'a,b\r\n1,x"y\r\n', 1],
    ['an empty field too many', 'a,b\r\n1,x,\r\n', 1],
    ['CR line ends', 'a,b\r1,x\r2,y\r', 2],
    ['LF line ends', 'a,b\n1,x\n2,y\n', 2],
    ['a file cut off in its last field', 'a,b\r\n1,x\r\n2,yyy', 2],
  ])('hazard 63: %s loads silently', async (_name, text, count) => {
    const read = `select * from read_csv('${csv(text)}', ${TWO}, escape = '"', strict_mode = true, null_padding = false)`;
    expect(await rows(read)).toHaveLength(count);
  });

  test('hazard 65: rowid follows the file, but starts elsewhere inside a transaction', async () => {
    const path = csv(`a,b\r\n${Array.from({ length: 1000 }, (_, i) => `${i},x\r\n`).join('')}`);
    await rows(`create temp table auto as select * from read_csv('${path}', ${TWO})`);
    expect(await rows('select min(rowid)::bigint, bool_and(rowid::varchar = a) from auto')).toEqual([
      ['0', true],
    ]);
    await rows('begin');
    await rows(`create temp table inside as select * from read_csv('${path}', ${TWO})`);
    expect(await rows('select min(rowid)::bigint from inside')).toEqual([['36028797018960000']]);
    await rows('rollback');
  });

  test('hazard 67: a record over 2,000,000 bytes needs max_line_size', async () => {
    const path = csv(`a,b\r\n1,${'x'.repeat(2_000_000)}\r\n`);
    await expect(rows(`select length(b)::int from read_csv('${path}', ${TWO})`)).rejects.toThrow(
      /line size/i,
    );
    const raised = `select length(b)::int from read_csv('${path}', ${TWO}, max_line_size = 3000000)`;
    expect(await rows(raised)).toEqual([[2_000_000]]);
  });
});

describe('casting', () => {
  test.each([
    ['1.23456', '1.2346'],
    ['1e3', '1000.0000'],
    ['1_000', '1000.0000'],
    [' 1.10 ', '1.1000'],
    ['+5', '5.0000'],
    ['.5', '0.5000'],
  ])('hazard 4: a cast to DECIMAL takes %s', async (text, value) => {
    expect(await rows(`select cast('${text}' as decimal(18, 4))::varchar`)).toEqual([[value]]);
  });

  test.each(['2026-2-3', '2026/02/03', '2026-03-08T00:00:00', 'epoch', 'infinity', '26-02-03'])(
    'hazard 64: a cast to DATE takes %s, a round trip does not',
    async (text) => {
      expect(
        await rows(
          `select try_cast('${text}' as date) is not null, cast(try_cast('${text}' as date) as varchar) = '${text}' and length('${text}') = 10`,
        ),
      ).toEqual([[true, false]]);
    },
  );

  test('a cast of text with an offset to TIMESTAMP drops the offset', async () => {
    expect(await rows("select cast('2026-02-01T00:00:00+02:00' as timestamp)::varchar")).toEqual([
      ['2026-02-01 00:00:00'],
    ]);
  });
});

describe('numbers', () => {
  test('hazard 7: JavaScript rows turn DECIMAL into a float, JSON rows do not; avg and / answer DOUBLE', async () => {
    const reader = await connection.runAndReadAll('select 90071992547409.9301::decimal(18, 4) as d');
    expect(typeof reader.getRowObjectsJS()[0]?.d).toBe('number');
    expect(reader.getRowObjectsJson()[0]?.d).toBe('90071992547409.9301');
    const types =
      'select typeof(avg(x)), typeof(sum(x) / 2), typeof(sum(x)) from (select 1.5::decimal(18, 4) as x)';
    expect(await rows(types)).toEqual([['DOUBLE', 'DOUBLE', 'DECIMAL(38,4)']]);
  });

  test('hazard 8: the appender wraps an overflowing DECIMAL', async () => {
    await rows('create table t (d decimal(18, 4))');
    const appender = await connection.createAppender('t');
    appender.appendDecimal(new DuckDBDecimalValue(2n ** 63n + 1n, 18, 4));
    appender.endRow();
    appender.closeSync();
    const [[stored] = []] = await rows('select d::varchar from t');
    expect(stored).not.toBe('922337203685477.5809');
  });
});

describe('transactions', () => {
  test('hazard 9: COMMIT behind a failed statement says nothing and stores nothing', async () => {
    await rows('create table t (a integer)');
    await rows('begin');
    await rows('insert into t values (1)');
    await expect(rows("insert into t select error('no')::integer")).rejects.toThrow();
    const committed = await rows('commit').then(
      () => 'no error',
      () => 'an error',
    );
    expect(committed).toBe('no error');
    expect(await rows('select count(*)::int from t')).toEqual([[0]]);
  });

  test('hazard 9: COMMIT behind a statement that does not bind stores the half', async () => {
    await rows('create table t (a integer)');
    await rows('begin');
    await rows('insert into t values (1)');
    await expect(rows('insert into nowhere values (1)')).rejects.toThrow();
    await rows('commit');
    expect(await rows('select count(*)::int from t')).toEqual([[1]]);
  });

  test('hazard 9: our transaction stores nothing in either case', async () => {
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

  test('hazard 16: text without values runs every statement in it; a prepared one refuses', async () => {
    await rows('create table t (a integer)');
    await rows('insert into t values (1); insert into t values (2)');
    expect(await rows('select count(*)::int from t')).toEqual([[2]]);
    await expect(connection.prepare('insert into t values (3); insert into t values (4)')).rejects.toThrow();
  });

  test('hazard 69: an alias without AS is a parse error behind a function', async () => {
    await expect(rows('select sum(1) cost')).rejects.toThrow(/Parser Error/);
  });
});

describe('files', () => {
  test('hazard 10: the warehouse has no secondary index, and no key on its rows', async () => {
    const { aWarehouse, ask } = await import('../warehouse/support.ts');
    const t = await aWarehouse();
    const { path } = await t.warehouse.publish();
    expect(await ask(path, 'select * from duckdb_indexes()')).toEqual([]);
    const keys =
      "select table_name from duckdb_constraints() where constraint_type in ('PRIMARY KEY', 'UNIQUE') order by 1";
    expect((await ask(path, keys)).map((row) => row.table_name)).toEqual([
      'event_keys',
      'ingest_cursors',
      'invoice_keys',
      // A row for each damaged record: a handful, or none.
      'set_aside',
    ]);
    await t.close();
  });

  test('hazard 11: our door opens a file once in a process', async () => {
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

  test('hazard 12: no other process opens a file that a writer has, not even to read', async () => {
    const program = `
      import { DuckDBInstance } from '@duckdb/node-api';
      await DuckDBInstance.create(${JSON.stringify(join(folder, 'h.duckdb'))}, { access_mode: 'READ_ONLY' });`;
    const root = new URL('../..', import.meta.url);
    const opening = promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      cwd: root,
    });
    await expect(opening).rejects.toThrow(/lock/i);
  });

  test('hazard 13: a copy of the live file misses what is in the WAL', async () => {
    await rows('create table t (a integer)');
    await rows('checkpoint');
    await rows('insert into t select range::integer from range(500)');
    const copy = join(folder, 'copy.duckdb');
    copyFileSync(join(folder, 'h.duckdb'), copy);
    const other = await DuckDBInstance.create(copy, { access_mode: 'READ_ONLY' });
    const reader = await other.connect();
    expect((await reader.runAndReadAll('select count(*)::int from t')).getRows()).toEqual([[0]]);
    reader.closeSync();
    other.closeSync();
  });

  test('a checkpoint behind a commit is refused while a reader clears that commit away; ours asks again', async () => {
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

  test('a checkpoint writes the last row group of a table with a key anew, of one without only the new rows', async () => {
    for (const [table, key] of [
      ['keyed', ' primary key'],
      ['bare', ''],
    ] as const) {
      await rows(`create table ${table} (id bigint${key}, text varchar)`);
      await rows(`insert into ${table} select range, md5(range::varchar) from range(100000)`);
    }
    await rows('checkpoint');
    const blocks = (table: string) =>
      rows(`select column_id::int, block_id::int from pragma_storage_info('${table}')
        where row_group_id = 0 and segment_type <> 'VALIDITY' order by all`);
    const before = { keyed: await blocks('keyed'), bare: await blocks('bare') };
    for (const table of ['keyed', 'bare']) await rows(`insert into ${table} values (-1, 'new')`);
    await rows('checkpoint');
    expect(await blocks('bare')).toEqual(before.bare);
    expect(await blocks('keyed')).not.toEqual(before.keyed);
  });

  test('hazard 14: a file of storage version 1.5.0 refuses a foreign WAL', async () => {
    const make = async (path: string): Promise<void> => {
      const one = await DuckDBInstance.create(path, { storage_compatibility_version: 'v1.5.0' });
      const session = await one.connect();
      await session.run('create table t (a integer)');
      await session.run('checkpoint');
      await session.run('insert into t values (1)');
      copyFileSync(`${path}.wal`, `${path}.kept`);
      session.closeSync();
      one.closeSync();
    };
    const [a, b] = [join(folder, 'a.duckdb'), join(folder, 'b.duckdb')];
    await make(a);
    await make(b);
    copyFileSync(`${b}.kept`, `${a}.wal`);
    await expect(DuckDBInstance.create(a)).rejects.toThrow();
  });

  test('hazard 17: by default everything is open; a session of ours reads its folders and nothing else', async () => {
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

  test('hazard 17: DuckDB creates files that others may read', () => {
    const mode = statSync(join(folder, 'h.duckdb')).mode & 0o777;
    expect(mode).toBe(0o666 & ~process.umask());
  });

  test('hazard 18: a checkpoint can be made to fail for crash tests', async () => {
    const settings = "select count(*)::int from duckdb_settings() where name = 'debug_checkpoint_abort'";
    expect(await rows(settings)).toEqual([[1]]);
  });

  test('hazard 19: the engine is the one we pinned, out of its own package', () => {
    const manifest = createRequire(import.meta.url)('../../package.json') as {
      dependencies: Record<string, string>;
    };
    expect(version()).toBe('v1.5.5');
    expect(manifest.dependencies['@duckdb/node-api']).toBe('1.5.5-r.5');
    expect(manifest.dependencies.duckdb).toBeUndefined();
  });
});
