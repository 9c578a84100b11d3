/**
 * How many small invoices one, two and three workers settle over one lake: PostgreSQL with 2 ms more for each message and S3 with
 * 30 ms more for each request, as between machines. Every worker has a data folder of its own.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { request } from 'undici';
import { startS3Proxy } from '../archive/s3-proxy.ts';
import { startS3Server } from '../archive/s3-server.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { type RunningRole, startRole } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';
import { settingsFor } from '../support/processes/product.ts';
import { installDuckDbExtensions } from '../support/tools/duckdb-extensions.ts';
import { startPostgres } from '../support/tools/postgres.ts';
import { startDelayProxy } from './support/delay-proxy.ts';
import { cpuOf } from './support/process-cpu.ts';
import { expectKept } from './support/rounds.ts';

export const summary = 'one, two and three workers over one lake: invoices per second [invoices] [rows]';

const S3_DELAY_MS = 30;
const POSTGRES_DELAY_MS = 2;
const WARM_UP = 20;
const MAX_WORKERS = 3;
const SETTLED_WITHIN_MS = 600_000;
/** Three workers settle at least 2.2 times as many as one, with at most 1.3 times the processor time per invoice. */
const MIN_GAIN = 2.2;
const MAX_CPU_RATIO = 1.3;

interface Taken {
  readonly perSecond: number;
  readonly cpuMs: number;
}

export async function main([count = '200', rows = '20']: readonly string[]): Promise<void> {
  await installDuckDbExtensions();
  const [postgres, s3] = await Promise.all([startPostgres(), startS3Server()]);
  const database = await startDelayProxy(postgres.port, POSTGRES_DELAY_MS);
  const bucket = await startS3Proxy(s3.url);
  bucket.hold = () => sleep(S3_DELAY_MS);
  const found: Taken[] = [];
  try {
    for (let workers = 1; workers <= MAX_WORKERS; workers += 1) {
      await request(`${s3.url}/lake-${workers}`, { method: 'PUT' });
      const taken = await settle({
        ...{ workers, count: Number(count), rows: Number(rows), s3Url: bucket.url },
        ...{ postgresPort: postgres.port, delayedPort: database.port },
      });
      found.push(taken);
      const measured = `${taken.perSecond.toFixed(2)} a second, ${taken.cpuMs.toFixed(0)} ms of processor time each`;
      process.stdout.write(`${workers} workers: ${measured}\n`);
    }
  } finally {
    await Promise.all([database.stop(), bucket.stop()]);
    await Promise.all([postgres.stop(), s3.stop()]);
  }
  const [one, last] = [found[0], found.at(-1)];
  if (one === undefined || last === undefined) throw new Error('nothing was measured');
  process.stdout.write(`gain: ${(last.perSecond / one.perSecond).toFixed(2)}, promised ${MIN_GAIN}\n`);
  expectKept([
    {
      what: 'time of one worker to that of three, inverted',
      found: one.perSecond / last.perSecond,
      atMost: 1 / MIN_GAIN,
    },
    {
      what: 'processor time per invoice of three workers to one',
      found: last.cpuMs / one.cpuMs,
      atMost: MAX_CPU_RATIO,
    },
  ]);
}

interface Setting {
  readonly workers: number;
  readonly count: number;
  readonly rows: number;
  readonly s3Url: string;
  readonly postgresPort: number;
  readonly delayedPort: number;
}

async function settle(setting: Setting): Promise<Taken> {
  const { workers, count, rows, s3Url, postgresPort, delayedPort } = setting;
  const folder = mkdtempSync(join(tmpdir(), 'bench-workers-'));
  const name = `bench_${workers}`;
  await query(postgresPort, 'postgres', `create database ${name}`);
  const service = await startForeignService({ tokenLifetimeSeconds: 3_600 });
  const password = 'hook:secret-of-the-endpoint';
  const shared = {
    ...settingsFor(service),
    ...{ BILLSYNC_OVERDUE_AFTER: '1h', LOG_LEVEL: 'info', BILLSYNC_ADMIN_PORT: '0' },
    BILLSYNC_WAREHOUSE: `ducklake:postgres:host=127.0.0.1 port=${delayedPort} user=lake dbname=${name}`,
    BILLSYNC_LAKE_DATA: `s3://lake-${workers}/rows`,
    BILLSYNC_ARCHIVE: `s3://lake-${workers}/archive`,
    BILLSYNC_ENCRYPTION_KEY: `shared:${randomBytes(32).toString('base64')}`,
    BILLSYNC_WEBHOOK_PORT: String(await freePort()),
    BILLSYNC_WEBHOOK_BASIC_AUTH: password,
    TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
    ...{ AWS_ENDPOINT_URL: s3Url, AWS_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' },
    ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
  };
  const started: RunningRole[] = [];
  const start = async (role: string, dataDir: string): Promise<RunningRole> => {
    const running = await startRole([role], {
      env: { ...shared, BILLSYNC_DATA_DIR: join(folder, dataDir) },
      cwd: folder,
    });
    started.push(running);
    return running;
  };
  try {
    await start('temporal', 'temporal');
    const endpoint = await start('webhook', 'endpoint');
    const running: RunningRole[] = [];
    for (let number = 1; number <= workers; number += 1)
      running.push(await start('worker', `worker-${number}`));
    service.register({
      url: endpoint.addresses.webhook ?? '',
      headers: { authorization: `Basic ${Buffer.from(password).toString('base64')}` },
      caPem: readFileSync(join(folder, 'endpoint', 'keys', 'webhook-cert.pem'), 'utf8'),
      keepsConnections: true,
    });
    const loaded = async () =>
      Number(
        (
          await query(
            postgresPort,
            name,
            "select count(*) as n from billsync_1.invoice_state where state = 'loaded'",
          )
        )[0]?.n,
      );
    const cpu = () => running.reduce((sum, { child }) => sum + cpuOf(child.pid ?? 0), 0);
    await bill(service, WARM_UP, rows);
    await until(loaded, WARM_UP);
    const [began, before] = [performance.now(), cpu()];
    await bill(service, count, rows);
    await until(loaded, WARM_UP + count);
    return { perSecond: count / ((performance.now() - began) / 1_000), cpuMs: (cpu() - before) / count };
  } finally {
    // The role of Temporal ends its server; a killed one would leave it.
    for (const role of started.reverse()) await role.end('SIGTERM');
    await service.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

async function bill(service: ForeignService, count: number, rows: number): Promise<void> {
  const one = async (): Promise<void> => {
    const { invoiceId } = await service.createInvoice({ tenant: 'One', rows });
    await service.finalize(invoiceId);
  };
  for (let from = 0; from < count; from += 16) {
    await Promise.all(Array.from({ length: Math.min(16, count - from) }, one));
  }
}

async function until(loaded: () => Promise<number>, count: number): Promise<void> {
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const now = await loaded();
    if (now >= count) return;
    if (Date.now() > deadline) throw new Error(`${now} of ${count} are loaded`);
    await sleep(200);
  }
}

async function query(port: number, database: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: `postgresql://lake@127.0.0.1:${port}/${database}` });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}
