/**
 * The whole of billsync over a lake: `up`, two more workers with data folders of their own, one archive, and one PostgreSQL.
 */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';
import { type ForeignService, serviceSettings, startForeignService } from '../support/foreign-service.ts';
import { type RunningRole, startRole } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';
import { billedSums, differences, reportedSums, runJson } from '../support/published-data.ts';
import { installDuckDbExtensions } from '../support/tools/duckdb-extensions.ts';
import { type PostgresServer, startPostgres } from '../support/tools/postgres.ts';

const folder = testFolder();
const dataDir = join(folder, 'first');
let service: ForeignService;
let postgres: PostgresServer;
let env: Record<string, string>;
let up: RunningRole | undefined;
const others: RunningRole[] = [];

beforeAll(async () => {
  await installDuckDbExtensions();
  [service, postgres] = await Promise.all([startForeignService(), startPostgres({ maxConnections: 40 })]);
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
});

const states = () => runJson<{ state: string }[]>(['invoices', 'list'], env);

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

async function connections(client: pg.Client): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ name: string; n: number }>(
    "select application_name as name, count(*)::integer as n from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() group by 1",
  );
  return new Map(rows.map(({ name, n }) => [name, n]));
}

test('reports a lake of three workers to the fourth decimal, verified, over few named connections', async () => {
  await bill(4);
  const isSettled = (count: number) => (list: { state: string }[]) =>
    list.length === count && list.every(({ state }) => state === 'loaded' || state === 'voided');
  await eventually(states, isSettled(4));
  await expectExact();

  for (const [role, name] of [
    ['worker', 'second'],
    ['worker', 'third'],
  ] as const) {
    const ownFolder = {
      BILLSYNC_DATA_DIR: join(folder, name),
      TEMPORAL_ADDRESS: up?.addresses.temporal ?? '',
    };
    others.push(await startRole([role], { env: { ...env, ...ownFolder }, cwd: folder }));
  }
  const client = new pg.Client({ connectionString: `postgresql://lake@127.0.0.1:${postgres.port}/postgres` });
  await client.connect();
  const most = new Map<string, number>();
  await bill(24);
  const settled =
    "select count(*)::integer as n from billsync_1.invoice_state where state in ('loaded', 'voided')";
  await eventually(
    async () => {
      for (const [name, n] of await connections(client)) most.set(name, Math.max(n, most.get(name) ?? 0));
      return (await client.query<{ n: number }>(settled)).rows[0]?.n;
    },
    (n) => n === 28,
  );
  await client.end();
  await expectExact();
  const pages = ['/', '/reports/carriers', '/shipments', '/invoices'];
  const page = (path: string) => fetch(new URL(path, up?.addresses.dashboard));
  for (const path of pages) expect((await page(path)).status).toBe(200);
  expect([...most.keys()].filter((name) => !/^billsync \w+ \S+ pid \d+$/.test(name))).toEqual([]);
  const ofLedgers = [...most].filter(([name]) => name.startsWith('billsync worker'));
  expect(ofLedgers).toHaveLength(3);
  expect(Math.max(...ofLedgers.map(([, n]) => n))).toBeLessThanOrEqual(3);
  const verified = await runJson(['verify'], env);
  expect(verified).toMatchObject({ drift: [], shipments: 525 });

  // The endpoint of `up` has no password of the lake, so its alerts are kept by `up`.
  expect(up?.stderr()).not.toMatch(/the open alerts (could not be stored|cannot be read)/);
  await postgres.stop();
  for (const path of pages) {
    const away = await page(`${path}?currency=EUR`);
    expect(away.status).toBe(503);
    expect(await away.text()).toContain('cannot be reached');
  }
  for (const role of others.splice(0)) expect(await role.end('SIGTERM')).toBe(0);
  expect(await up?.end('SIGTERM')).toBe(0);
});
