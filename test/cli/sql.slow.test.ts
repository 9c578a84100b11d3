import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runReport } from '../../reports/report-session.ts';
import { runSql } from '../../reports/run-sql.ts';
import { billsync } from '../support/processes/billsync.ts';
import { anInvoice, reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';

const page = await readFile(new URL('../../docs/sql-cookbook.md', import.meta.url), 'utf8');
const questions = [...page.matchAll(/^## (\d+)\. (.*?)(?: ★)?\n[\s\S]*?^```sql\n([\s\S]*?)^```/gm)].map(
  ([, number, title, sql]) => [`${number}. ${title}`, sql ?? ''] as const,
);

const [first, ...others] = seededInvoices(5, 40);
const odd = first === undefined ? [] : [anInvoice(first.shipments, { ...first, statedTotal: '1.0000' })];
const fixture = await reportsFixture([...odd, ...others]);
afterAll(() => fixture.remove());

const query = (sql: string) => runSql({ databasePath: fixture.path, sql, timeLimitMs: 60_000 });
const report = async (name: string) => (await runReport({ databasePath: fixture.path, name })).rows;
const picked = (rows: readonly Readonly<Record<string, unknown>>[], ...names: readonly string[]) =>
  rows.map((row) => names.map((name) => row[name]));

describe('the cookbook', () => {
  test.each(questions)('%s', async (_title, sql) => {
    expect((await query(sql)).rows.length).toBeGreaterThan(0);
  });

  test('agrees with the reports', async () => {
    const answer = async (number: number) => (await query(questions[number - 1]?.[1] ?? '')).rows;
    const cost = ['currency_code', 'shipments', 'billing_cost'];
    expect(picked(await answer(1), 'tenant', ...cost)).toEqual(
      picked(await report('tenants'), 'tenant', ...cost),
    );
    const packages = picked(await report('carriers'), 'carrier', 'currency_code', 'packages').sort();
    expect(picked(await answer(3), 'carrier', 'currency_code', 'packages').sort()).toEqual(packages);
    const months = picked(await report('summary'), 'month', 'billing_cost', 'change_on_previous');
    expect(picked(await answer(4), 'month', 'billing_cost', 'change')).toEqual(months);
  });
});

describe('billsync sql', () => {
  const run = (...args: readonly string[]) =>
    billsync(['sql', ...args], { env: { BILLSYNC_DATA_DIR: fixture.folder } });

  test('prints a table, and JSON with amounts as text', async () => {
    const sql =
      "select 'a' as word, 1.50::decimal(18,4) as amount, count(*) as n, [1, 2] as list from publication";
    expect((await run(sql)).stdout).toBe('word  amount  n  list\na     1.5000  1  [1,2]\n');
    expect(JSON.parse((await run(sql, '--json')).stdout)).toEqual([
      { word: 'a', amount: '1.5000', n: 1, list: expect.anything() },
    ]);
  });

  test('has the macros of the reports and UTC instants', async () => {
    const { rows } = await query("select normal_zone('Zone 05') as zone, published_at from publication");
    expect(rows).toEqual([{ zone: '5', published_at: '2026-04-01T00:00:00.000Z' }]);
  });

  test.each([
    ['writes nothing', 'delete from internal.loads'],
    ['writes no file', "copy (select 1) to 'stolen.csv'"],
    ['reads no file', "select * from read_text('/etc/hostname')"],
    ['takes one statement', 'select 1; select 2'],
    ['keeps its limits', 'set enable_external_access = true'],
  ])('%s', async (_what, sql) => {
    await expect(query(sql)).rejects.toMatchObject({ code: 'sql-refused' });
  });

  test('opens the read-only shell without a statement', async () => {
    const bin = join(fixture.folder, 'bin');
    await mkdir(bin);
    const shell = join(bin, 'duckdb');
    await writeFile(
      shell,
      '#!/bin/sh\n[ "$1" = --version ] && exit\necho "$@"\nfile=$(echo "$3" | cut -d\\" -f2); grep -c "create or replace temp macro" "$file"\n',
    );
    await chmod(shell, 0o755);
    const env = { BILLSYNC_DATA_DIR: fixture.folder, PATH: `${bin}:${process.env.PATH ?? ''}` };
    const { exitCode, stdout } = await billsync(['sql'], { env });
    expect(exitCode).toBe(0);
    const [line = '', macros = ''] = stdout.trim().split('\n');
    expect(line).toMatch(/^-readonly -cmd \.read ".*macros\.sql" .*reports\.duckdb$/);
    expect(Number(macros)).toBeGreaterThan(20);
  });
});
