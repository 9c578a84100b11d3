import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from 'vitest';
import { isReportError } from '../../reports/errors.ts';
import { runSql } from '../../reports/run-sql.ts';
import { attackEach } from '../support/attack.ts';
import { testFolder } from '../support/folders.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { aCsv } from '../warehouse/support.ts';

const dataDir = testFolder();
const path = join(dataDir, 'reports.duckdb');
const env = { BILLSYNC_DATA_DIR: dataDir };

beforeAll(async () => {
  const csv = join(dataDir, 'invoice.csv');
  writeFileSync(csv, aCsv([{}, {}]));
  expect(await runCommand(['import', csv], { env })).toMatchObject({ exitCode: 0 });
});

const query = (sql: string) => runSql({ databasePath: path, sql, timeLimitMs: 60_000 });

describe('a statement', () => {
  test.each([
    'select count(*) as n from shipments',
    'from shipments',
    'with p as (select 1 as a) select * from p',
    'values (1)',
    'describe shipments',
    'summarize shipments',
    'show tables',
    'pivot shipments on carrier using sum(billing_cost)',
    'pivot shipments on carrier, currency_code using sum(billing_cost) group by tenant_id',
    'with p as (pivot shipments on carrier using sum(billing_cost)) from p',
    '-- by carrier\npivot shipments on carrier using sum(billing_cost);',
    "pivot shipments on carrier in ('UPS') using sum(billing_cost)",
    'unpivot (select 1 as a, 2 as b) on a, b into name what value n',
    'explain select 1',
    'explain analyze select count(*) from shipments',
    'explain (format json) select 1',
    'explain pivot shipments on carrier using sum(billing_cost)',
    'select * from range(3), unnest([1, 2]), generate_series(1, 2)',
    'select function_name from duckdb_functions() limit 1',
    'select 1 /* a comment */ ;',
    'select count(*) from internal.loads, main.shipments, reports.main.invoices, information_schema.tables',
    'pivot main.shipments on carrier using sum(billing_cost / 2)',
  ])('that reads is answered: %s', async (sql) => {
    expect((await query(sql)).columns.length).toBeGreaterThan(0);
  });

  test('that writes or reads outside is refused and leaves no file', async () => {
    const outsideName = `"${dataDir}/stolen"."csv"`;
    const target = join(dataDir, 'stolen');
    const wal = `${path}.wal`;
    const hostile = [
      ...['', 'explain ', 'explain analyze ', 'explain (analyze) ', '/* x */ explain analyze '].flatMap(
        (how) => [
          `${how}copy (select 1) to '${wal}'`,
          `${how}copy (select 1) to '${path}' (use_tmp_file false)`,
          `${how}copy (select 1) to '${target}'`,
          `${how}insert into internal.loads select * from internal.loads`,
          `${how}delete from internal.loads`,
          `${how}create temp table x as select 1`,
        ],
      ),
      "explain /* /* */ select 1 -- */ analyze copy (select 1) to '/tmp/x'",
      `/* /* */ select 1 -- */ copy (select 1) to '${target}'`,
      'select 1; select 2',
      `select 1; copy (select 1) to '${target}'`,
      `pivot shipments on carrier using count(*); copy (select 1) to '${target}'`,
      `copy (select 1) to '${target}'; pivot shipments on carrier using count(*)`,
      `create secret s (type s3); select 1`,
      'create temp macro m() as 1; select m()',
      ...['read_text', 'read_blob', 'read_csv', 'read_csv_auto', 'read_parquet', 'parquet_scan', 'read_json'],
    ].flatMap((each) => (/^\w+$/.test(each) ? outside(each) : [each]));
    const others = [
      ...['glob', 'sniff_csv', 'parquet_metadata', 'query', 'query_table', 'read_duckdb'].flatMap(outside),
      ...['postgres_scan', 'postgres_query', 'postgres_execute', 'ducklake_snapshots', 'mysql_query'].flatMap(
        outside,
      ),
      "from enable_logging(storage := 'file', storage_path := '/tmp/log')",
      'from duckdb_secrets()',
      "from '/etc/passwd.csv'",
      ...[
        outsideName,
        `"${dataDir}"."stolen"."csv"`,
        `'${dataDir}/stolen.csv'`,
        'stolen.csv',
        `"stolen"."csv"`,
      ].flatMap((file) => [
        `from ${file}`,
        `describe ${file}`,
        `summarize ${file}`,
        `explain select * from shipments natural join ${file}`,
        `select (select count(*) from ${file})`,
        `pivot ${file} on a using count(*)`,
        `pivot ${file} on a in (1) using count(*)`,
        `pivot (from ${file}) on a using count(*)`,
        `pivot shipments on carrier using count(*); from ${file}`,
        `pivot shipments on carrier using count(*) /* */; from ${file}`,
        `pivot (from shipments where '/*' <> '') on carrier using count(*) group by (select 1 from ${file})`,
        `with "stolen.csv" as (select 1) select * from ${file}`,
      ]),
      'pivot (from stolen./**/"csv") on a using count(*)',
      'select * from "stolen.csv" where exists (with "stolen.csv" as (select 1) select 1)',
      'from "data.parquet"',
      "pivot '/etc/passwd.csv' on a using count(*)",
      "pivot (select 1 as a) on a using count(*) group by (select max(x) from 's3://b/x.parquet')",
      "pivot (from query('select 1 as a')) on a using count(*)",
      'pivot (from "read_text"/**/(\'/etc/hostname\')) on content using count(*)',
      ...[
        'call pragma_version()',
        'checkpoint',
        "attach '/tmp/x.duckdb' as x",
        'detach x',
        'load json',
        'vacuum',
      ],
      ...[
        'set variable a = 1',
        "set search_path = 'internal'",
        'begin',
        "export database '/tmp/x'",
        'install json',
      ],
      ...['prepare p as select 1', 'execute p', 'use memory', "pragma table_info('shipments')", ''],
    ];
    const all = [...hostile, ...others];
    await attackEach('statements that write or reach outside, given to `billsync sql`', all, async (sql) =>
      isReportError(await query(sql).catch((error: unknown) => error), 'sql-refused'),
    );
    expect([existsSync(target), existsSync(wal)]).toEqual([false, false]);
  });

  function outside(name: string): readonly string[] {
    return [
      `select * from ${name}('/etc/hostname')`,
      `select (select count(*) from "${name.toUpperCase()}"('a', 'b'))`,
      `describe select * from system.main.${name}('a')`,
      `explain select * from shipments, lateral (from ${name}('a'))`,
      `pivot (from ${name}('a')) on content using count(*)`,
    ];
  }
});

describe('a write-ahead log beside the published file', () => {
  const looks = [
    ['report', 'tenants'],
    ['sql', 'select 1'],
    ['invoices', 'list'],
    ['explain', '1Z999'],
    ['export', '--output', join(dataDir, 'exported')],
  ];

  test('is ignored by readers, named by `verify`, and removed by the next publication', async () => {
    // One that DuckDB would apply: it belongs to these very bytes.
    const copy = join(dataDir, 'crafted.duckdb');
    writeFileSync(copy, readFileSync(path));
    const instance = await DuckDBInstance.create(copy, { checkpoint_threshold: '1TB' });
    const connection = await instance.connect();
    await connection.run('create table crafted (a integer)');
    writeFileSync(`${path}.wal`, readFileSync(`${copy}.wal`));
    connection.closeSync();
    instance.closeSync();
    rmSync(copy);

    await expect(query('select 1')).rejects.toMatchObject({ code: 'wal-beside-published-file' });
    for (const look of looks) {
      const { exitCode, stdout, stderr } = await runCommand(look, { env });
      expect({ look, exitCode, stdout }).toEqual({ look, exitCode: 3, stdout: '' });
      expect(stderr).toContain(`${path}.wal lies beside the published file`);
    }
    const verify = await runCommand(['verify', '--json'], { env });
    const { drift } = JSON.parse(verify.stdout) as { drift: { rule: string; found: string }[] };
    expect(verify.exitCode).toBe(1);
    expect(drift.map(({ rule, found }) => [rule, found])).toEqual([
      ['wal-beside-published-file', `${path}.wal`],
    ]);

    expect(await runCommand(['snapshot'], { env })).toMatchObject({ exitCode: 0 });
    expect(existsSync(`${path}.wal`)).toBe(false);
    expect(await runCommand(['report', 'tenants'], { env })).toMatchObject({ exitCode: 0 });
  });

  test('keeps the published file read-only', () => {
    expect(statSync(path).mode & 0o777).toBe(0o400);
  });
});
