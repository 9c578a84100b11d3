/**
 * The whole of billsync over a lake: `up`, two more workers and a dashboard, each with its own data folder, one archive, and one
 * PostgreSQL with 20 connections.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service/foreign-service.ts';
import { serviceSettings } from '../support/foreign-service/service-settings.ts';
import { differences } from '../support/invariants/exact-sums.ts';
import { askJson, billedSums, reportedSums } from '../support/invariants/reported-sums.ts';
import { type RunningRole, startRole } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';
import { installDuckDbExtensions } from '../support/tools/duckdb-extensions.ts';
import { type PostgresServer, startPostgres } from '../support/tools/postgres.ts';

const folder = mkdtempSync(join(tmpdir(), 'billsync-lake-up-'));
const dataDir = join(folder, 'first');
let service: ForeignService;
let postgres: PostgresServer;
let env: Record<string, string>;
let up: RunningRole | undefined;
const others: RunningRole[] = [];

beforeAll(async () => {
  await installDuckDbExtensions();
  [service, postgres] = await Promise.all([startForeignService(), startPostgres({ maxConnections: 20 })]);
  env = {
    BILLSYNC_DATA_DIR: dataDir,
    BILLSYNC_WAREHOUSE: `ducklake:postgres:${postgres.connectionString}`,
    BILLSYNC_LAKE_DATA: join(folder, 'lake'),
    BILLSYNC_ARCHIVE: join(folder, 'archive'),
    BILLSYNC_ENCRYPTION_KEY: `shared:${randomBytes(32).toString('base64')}`,
    ...serviceSettings(service),
    BILLSYNC_WEBHOOK_HOST: '127.0.0.1',
    BILLSYNC_WEBHOOK_PORT: String(await freePort()),
    BILLSYNC_WEBHOOK_BASIC_AUTH: 'service:secret-of-the-endpoint',
    BILLSYNC_ADMIN_PORT: '0',
    BILLSYNC_OVERDUE_AFTER: '5s',
  };
  up = await startRole(['up'], { env, cwd: folder });
  service.register({
    url: up.addresses.webhook ?? '',
    headers: { authorization: `Basic ${Buffer.from('service:secret-of-the-endpoint').toString('base64')}` },
    caPem: readFileSync(join(dataDir, 'keys', 'webhook-cert.pem'), 'utf8'),
  });
});

afterAll(async () => {
  for (const role of others) await role.end('SIGKILL');
  await up?.end('SIGTERM');
  await service?.close();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const states = () => askJson<{ state: string }[]>(['invoices', 'list'], env);

async function expectExact(): Promise<void> {
  expect(differences(billedSums(service.billedRows()), await reportedSums(env))).toEqual([]);
}

async function bill(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { invoiceId } = await service.createInvoice({ tenant: `Tenant ${index % 3}`, rows: 25 });
    await service.finalize(invoiceId);
    if (index % 4 === 3) await service.void(invoiceId);
  }
}

/** Connections of billsync to PostgreSQL by application name. */
async function connections(): Promise<ReadonlyMap<string, number>> {
  const client = new pg.Client({
    connectionString: `postgresql://lake@127.0.0.1:${postgres.port}/postgres`,
    application_name: 'test',
  });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; n: number }>(
      "select application_name as name, count(*)::integer as n from pg_stat_activity where backend_type = 'client backend' and application_name <> 'test' group by 1",
    );
    return new Map(rows.map(({ name, n }) => [name, n]));
  } finally {
    await client.end();
  }
}

test('what three workers load into a lake is reported to the fourth decimal and proved, with six connections each', async () => {
  await bill(4);
  const isSettled = (count: number) => (list: { state: string }[]) =>
    list.length === count && list.every(({ state }) => state === 'loaded' || state === 'voided');
  await eventually(states, isSettled(4));
  await expectExact();

  for (const [role, name] of [
    ['worker', 'second'],
    ['worker', 'third'],
    ['dashboard', 'dashboard'],
  ] as const) {
    const ownFolder = {
      BILLSYNC_DATA_DIR: join(folder, name),
      TEMPORAL_ADDRESS: up?.addresses.temporal ?? '',
    };
    console.log(role, [...await connections()]);
    others.push(await startRole([role], { env: { ...env, ...ownFolder }, cwd: folder }));
  }
  const most = new Map<string, number>();
  const sampling = setInterval(async () => {
    for (const [name, n] of await connections()) most.set(name, Math.max(n, most.get(name) ?? 0));
  }, 200);
  await bill(24);
  await eventually(states, isSettled(28));
  await expectExact();
  const pages = await Promise.all(
    ['/', '/reports/carriers', '/shipments', '/invoices'].map((path) =>
      fetch(new URL(path, others.at(-1)?.addresses.dashboard)),
    ),
  );
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  clearInterval(sampling);
  const byProcess = [...most].filter(([name]) => others.some(({ child }) => name === `pid ${child.pid}`));
  expect(byProcess).toHaveLength(3);
  expect(Math.max(...byProcess.map(([, n]) => n))).toBeLessThanOrEqual(6);
  expect(most.has('')).toBe(false);
  const verified = await askJson(['verify', '--full'], env);
  expect(verified).toMatchObject({ drift: [], shipments: 525 });

  for (const role of others.splice(0)) expect(await role.end('SIGTERM')).toBe(0);
  expect(await up?.end('SIGTERM')).toBe(0);
});
