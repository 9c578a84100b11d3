/**
 * Several machines on one lake, as docs/several-machines.md describes them: PostgreSQL, S3 and a Temporal server for all, and a process
 * with a data folder of its own for each worker, endpoint and dashboard. A supervisor starts each of them again when it ends.
 */

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { request } from 'undici';
import { type S3Proxy, startS3Proxy } from '../archive/s3-proxy.ts';
import { startS3Server } from '../archive/s3-server.ts';
import { type ForeignService, startForeignService } from './foreign-service.ts';
import { freePort } from './processes/free-port.ts';
import { createProduct, type Product, type Role } from './processes/product.ts';
import { installDuckDbExtensions } from './tools/duckdb-extensions.ts';
import { type PostgresServer, startPostgres } from './tools/postgres.ts';

const RESTART_PAUSE_MS = 500;

export interface LakeMachinesOptions {
  readonly seed: number;
  readonly workers: number;
  readonly endpoints: number;
  readonly maxConnections: number;
  /** By how many milliseconds the clocks of these machines are wrong, by their name. */
  readonly clocks: Readonly<Record<string, number>>;
}

export interface LakeMachines {
  readonly service: ForeignService;
  readonly postgres: PostgresServer;
  /** BILLSYNC_WAREHOUSE of all. */
  readonly catalog: string;
  /** In front of the bucket, to take it away. */
  readonly s3: S3Proxy;
  readonly temporal: Machine;
  readonly workers: readonly Machine[];
  readonly endpoints: readonly Machine[];
  readonly dashboard: Machine;
  readonly all: readonly Machine[];
  /** A machine that is not started. @param settings replace those of the others */
  spare(name: string, role: Role, clockMs?: number, settings?: Record<string, string>): Promise<Machine>;
  /** Queries PostgreSQL as its superuser, over a connection of its own. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  client(): Promise<pg.Client>;
  /** @param keep leaves the data folders */
  close(options: { readonly keep: boolean }): Promise<void>;
}

export class Machine {
  readonly name: string;
  readonly role: Role;
  readonly product: Product;
  /** Exit codes of the times that it ended by itself. */
  readonly ended: number[] = [];
  #isWanted = false;

  constructor(name: string, role: Role, product: Product) {
    this.name = name;
    this.role = role;
    this.product = product;
  }

  /** Starts it, and from then on again whenever it ends. Resolves when it is ready. */
  async start(): Promise<void> {
    this.#isWanted = true;
    const ready = this.product.start(this.role);
    void this.#supervise(ready);
    await ready;
  }

  async #supervise(starting: Promise<void>): Promise<void> {
    // A worker that waits for PostgreSQL is not ready in time and goes on; the next step waits for its end.
    await starting.catch(() => undefined);
    const code = await this.product.ended(this.role);
    if (!this.#isWanted) return;
    if (code !== null) this.ended.push(code);
    await sleep(RESTART_PAUSE_MS);
    if (this.#isWanted) void this.#supervise(this.product.start(this.role));
  }

  async kill(): Promise<void> {
    await this.product.kill(this.role);
  }

  /** SIGTERM, without another start. */
  async stop(): Promise<number | null> {
    this.#isWanted = false;
    return (await this.product.stop(this.role)).code;
  }

  get pid(): number {
    return this.product.pid(this.role) ?? 0;
  }

  address(name: string): string {
    return this.product.address(this.role, name) ?? '';
  }

  /** Whether `/readyz` answers 200. */
  async isReady(): Promise<boolean> {
    if (this.role === 'temporal') return this.product.isRunning(this.role);
    const answer = await this.#readyz();
    await answer?.body.dump();
    return answer?.statusCode === 200;
  }

  /** The unhealthy components of `/readyz`, else the last lines of its log. */
  async report(): Promise<string> {
    const answer = await this.#readyz();
    const { components = {} } = ((await answer?.body.json()) ?? {}) as {
      components?: Record<string, { isHealthy: boolean }>;
    };
    const wrong = Object.entries(components).filter(([, { isHealthy }]) => !isHealthy);
    return answer === null
      ? this.product.log(this.role).slice(-1_500)
      : JSON.stringify(Object.fromEntries(wrong));
  }

  async #readyz() {
    const url = this.address(this.role === 'webhook' ? 'probes' : 'dashboard');
    if (url === '') return null;
    return request(new URL('/readyz', url), { headersTimeout: 5_000 }).catch(() => null);
  }
}

export async function startLakeMachines(options: LakeMachinesOptions): Promise<LakeMachines> {
  await installDuckDbExtensions();
  const [service, postgres, bucket] = await Promise.all([
    startForeignService({ seed: options.seed, tokenLifetimeSeconds: 60 }),
    startPostgres({ maxConnections: options.maxConnections }),
    startS3Server(),
  ]);
  const s3 = await startS3Proxy(bucket.url);
  await request(`${bucket.url}/lake`, { method: 'PUT' });
  const urlOf = (database: string): string => `postgresql://lake@127.0.0.1:${postgres.port}/${database}`;
  await once(urlOf('postgres'), "create role billsync login password 'unheard-of'");
  await once(urlOf('postgres'), 'create database billsync owner billsync');
  const shared = {
    BILLSYNC_WAREHOUSE: `ducklake:postgres:host=127.0.0.1 port=${postgres.port} user=billsync password=unheard-of dbname=billsync`,
    ...{ BILLSYNC_LAKE_DATA: 's3://lake/rows', BILLSYNC_ARCHIVE: 's3://lake/archive' },
    BILLSYNC_ENCRYPTION_KEY: `shared:${randomBytes(32).toString('base64')}`,
    BILLSYNC_OVERDUE_AFTER: '2s,4s,8s',
    TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}`,
    ...{ AWS_ENDPOINT_URL: s3.url, AWS_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' },
    ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', LOG_LEVEL: 'info' },
  };
  const made: Machine[] = [];
  const spare: LakeMachines['spare'] = async (name, role, clockMs = options.clocks[name] ?? 0, own = {}) => {
    const clock = clockMs === 0 ? {} : { NODE_OPTIONS: movedClock(clockMs) };
    const machine = new Machine(
      name,
      role,
      await createProduct({ service, settings: { ...shared, ...clock, ...own } }),
    );
    made.push(machine);
    return machine;
  };
  const several = (count: number, name: string, role: Role): Promise<Machine[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => spare(`${name}-${index + 1}`, role)));
  const [temporal, dashboard, workers, endpoints] = await Promise.all([
    spare('temporal', 'temporal'),
    spare('dashboard', 'dashboard'),
    several(options.workers, 'worker', 'worker'),
    several(options.endpoints, 'endpoint', 'webhook'),
  ]);
  return {
    ...{ service, postgres, s3, temporal, workers, endpoints, dashboard, spare },
    catalog: shared.BILLSYNC_WAREHOUSE,
    all: [temporal, ...workers, ...endpoints, dashboard],
    query: (text, values) => once(urlOf('billsync'), text, values),
    async client() {
      const client = new pg.Client({ connectionString: urlOf('billsync') });
      client.on('error', () => undefined);
      await client.connect();
      return client;
    },
    async close({ keep }) {
      await Promise.all(made.filter((machine) => machine !== temporal).map((machine) => machine.stop()));
      await temporal.stop();
      for (const { product } of made) await product.close({ keep });
      await s3.stop();
      await Promise.all([service.close(), postgres.stop(), bucket.stop()]);
    },
  };
}

async function once(
  connectionString: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** An option of Node under which `Date` is that much later; monotonic clocks stay. */
function movedClock(ms: number): string {
  const program = `
    const { now } = Date;
    const moved = () => now() + ${ms};
    globalThis.Date = new Proxy(Date, {
      construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [moved()] : args, made),
      get: (target, name) => (name === 'now' ? moved : Reflect.get(target, name)),
    });`;
  return `--import=data:text/javascript;base64,${Buffer.from(program).toString('base64')}`;
}
