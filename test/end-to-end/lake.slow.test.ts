/** The whole of billsync over a lake: `up`, a second worker on a machine of its own, one PostgreSQL, one archive. */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
let second: RunningRole | undefined;

beforeAll(async () => {
  await installDuckDbExtensions();
  [service, postgres] = await Promise.all([startForeignService(), startPostgres()]);
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
  await second?.end('SIGKILL');
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

test('reports a lake of one or two workers to the fourth decimal, verified', async () => {
  await bill(4);
  const isSettled = (count: number) => (list: { state: string }[]) =>
    list.length === count && list.every(({ state }) => state === 'loaded' || state === 'voided');
  await eventually(states, isSettled(4));
  await expectExact();

  second = await startRole(['worker'], {
    env: {
      ...env,
      BILLSYNC_DATA_DIR: join(folder, 'second'),
      TEMPORAL_ADDRESS: up?.addresses.temporal ?? '',
    },
    cwd: folder,
  });
  await bill(8);
  await eventually(states, isSettled(12));
  await expectExact();
  const verified = await askJson(['verify', '--full'], env);
  expect(verified).toMatchObject({ drift: [], shipments: 225 });

  expect(await second.end('SIGTERM')).toBe(0);
  expect(await up?.end('SIGTERM')).toBe(0);
});
