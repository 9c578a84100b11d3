/** docs/examples: what dbt, Evidence and Metabase would send to DuckDB answers what the reports answer. */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { dbtModelSql } from './dbt-project.ts';

const examples = join(import.meta.dirname, '..', '..', 'docs', 'examples');
const dbt = join(examples, 'dbt');
const questions = join(examples, 'metabase', 'questions');
const names = (await readdir(questions)).sort();

const fixture = await reportsFixture(seededInvoices(5, 30), { publishedAt: '2026-07-01T00:00:00Z' });
const connection = await (await DuckDBInstance.create()).connect();
await connection.run(`attach '${fixture.path}' as billsync (read_only)`);
afterAll(async () => {
  connection.closeSync();
  await fixture.remove();
});

async function query(text: string): Promise<readonly Record<string, unknown>[]> {
  return (await connection.runAndReadAll(text)).getRowObjectsJson();
}
const key = (row: Record<string, unknown>, columns: readonly string[]) =>
  columns.map((column) => String(row[column])).join(' | ');

describe('dbt', () => {
  beforeAll(async () => {
    for (const model of ['stg_billsync__shipments', 'spend_by_month', 'spend_as_known_on']) {
      for (const statement of await dbtModelSql(dbt, model)) await connection.run(statement);
    }
  });

  test('spend_by_month equals the report cost', async () => {
    const { rows } = await fixture.run('cost', {}, { by: 'month+tenant+carrier' });
    const columns = [
      'ship_month',
      'tenant',
      'carrier',
      'currency_code',
      'shipments',
      'billing_cost',
      'credits',
    ];
    const expected = rows.map((row) => key({ ...row, ship_month: `${String(row.month)}-01` }, columns));
    const found = (await query('select * from spend_by_month')).map((row) => key(row, columns));
    expect(expected.length).toBeGreaterThan(20);
    expect(found.sort()).toEqual(expected.sort());
  });

  test('spend_as_known_on uses the attached file', async () => {
    const found = await query('select sum(shipments)::integer as shipments from spend_as_known_on');
    await connection.run('use billsync');
    const whole = `select count(*)::integer as shipments from shipments_as_known_on('2026-04-01T00:00:00Z') where invoice_level <> 'partner'`;
    expect(found).toEqual(await query(whole));
    await connection.run('use memory');
  });

  test.each(['spend_adds_up', 'no_line_twice'])('%s finds nothing', async (name) => {
    for (const statement of await dbtModelSql(dbt, name, 'tests')) await connection.run(statement);
    expect(await query(`from ${name}`)).toEqual([]);
  });
});

describe('Evidence', () => {
  const site = join(examples, 'evidence');
  const sources = ['spend', 'carriers', 'invoices'];
  beforeAll(async () => {
    await connection.run(`attach ':memory:' as site`);
    await connection.run('create schema site.billsync');
    for (const name of sources) {
      const text = await readFile(join(site, 'sources', 'billsync', `${name}.sql`), 'utf8');
      const published = text.replace(
        /read_parquet\('sources\/billsync\/published\/(\w+)\/.*?'(, union_by_name = true)?\)/,
        'billsync.main.$1',
      );
      await connection.run(`create table site.billsync.${name} as ${published}`);
    }
  });

  test('the page shows what the report carriers answers in its currency', async () => {
    const page = await readFile(join(site, 'pages', 'index.md'), 'utf8');
    const queries = [...page.matchAll(/^```sql (\w+)\n([\s\S]*?)^```/gm)];
    const columns = ['carrier', 'shipments', 'billing_cost'];
    const answers = new Map<string, readonly string[]>();
    for (const [, name = '', text = ''] of queries) {
      const sql = text
        .replaceAll('billsync.', 'site.billsync.')
        .replaceAll(/\$\{inputs\.\w+\.value\}/g, 'USD');
      answers.set(
        name,
        (await query(sql)).map((row) => key(row, columns)),
      );
    }
    expect([...answers.keys()]).toEqual(['currencies', 'spend', 'carriers', 'invoices']);
    const { rows } = await fixture.run('carriers', { currencies: ['USD'] });
    expect(answers.get('carriers')).toEqual(rows.map((row) => key(row, columns)));
  });
});

describe('Metabase', () => {
  const read = (name: string) => readFile(join(questions, name), 'utf8');
  const bare = (text: string) => text.replaceAll(/\[\[.*?\]\]/g, '');
  beforeAll(() => connection.run('use billsync'));

  test('carriers equal the report', async () => {
    const columns = ['carrier', 'currency_code', 'shipments', 'billing_cost'];
    const { rows } = await fixture.run('carriers');
    const found = (await query(bare(await read('carriers.sql')))).map((row) => key(row, columns));
    expect(found).toEqual(rows.map((row) => key(row, columns)));
  });

  test('months equal the report', async () => {
    const { rows } = await fixture.run('summary');
    const found = (await query(bare(await read('spend-by-month.sql')))).map((row) =>
      key({ ...row, month: String(row.ship_month).slice(0, 7) }, ['month', 'currency_code', 'billing_cost']),
    );
    expect(found.sort()).toEqual(
      rows.map((row) => key(row, ['month', 'currency_code', 'billing_cost'])).sort(),
    );
  });

  test.each(names)('%s runs with every filter', async (name) => {
    const values: Readonly<Record<string, string>> = {
      ...{
        carrier: 'ups',
        tenant: 'no such tenant',
        tracking_number: 'none',
        from: '2026-03-01',
        to: '2026-03-31',
      },
    };
    const text = (await read(name)).replaceAll(/\[\[(.*?)\]\]/g, '$1');
    const filled = text.replaceAll(/\{\{(\w+)\}\}/g, (_, variable: string) => `'${values[variable] ?? ''}'`);
    expect(filled).not.toContain("''");
    const isFiltered = filled !== text;
    expect((await query(filled)).length).toBe(isFiltered || name === 'invoices-to-look-at.sql' ? 0 : 1);
  });
});
