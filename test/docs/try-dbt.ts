/** `npm run try:dbt`: docs/examples/dbt by dbt itself, over seeded invoices; its months must be the report's. */

import { strict as assert } from 'node:assert';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { reportsFixture } from '../support/reports-fixture.ts';
import { seededInvoices } from '../support/seeded-invoices.ts';
import { runDbt } from './dbt-project.ts';

const project = join(import.meta.dirname, '..', '..', 'docs', 'examples', 'dbt');
const columns = ['month', 'tenant', 'carrier', 'currency_code', 'shipments', 'billing_cost'];
const key = (row: Readonly<Record<string, unknown>>) =>
  columns.map((column) => String(row[column])).join(' | ');

const fixture = await reportsFixture(seededInvoices(5, 30), { publishedAt: '2026-07-01T00:00:00Z' });
try {
  const target = join(fixture.folder, 'shipping-cost.duckdb');
  const stdout = await runDbt(project, { published: fixture.path, target, folder: fixture.folder });
  const connection = await (await DuckDBInstance.create(target, { access_mode: 'READ_ONLY' })).connect();
  const months = await connection.runAndReadAll(
    `select strftime(ship_month, '%Y-%m') as month, * from spend_by_month`,
  );
  const { rows } = await fixture.run('cost', {}, { by: 'month+tenant+carrier' });
  assert.deepEqual(months.getRowObjectsJson().map(key).sort(), rows.map(key).sort());
  console.log(
    `${stdout.trim().split('\n').at(-1) ?? ''}\n${rows.length} months of tenants and carriers are the report's.`,
  );
  connection.closeSync();
} finally {
  await fixture.remove();
}
