/**
 * Three workers, two endpoints and a dashboard on one lake, each with a data folder of its own, while a foreign service delivers to the
 * endpoints in turn: kills, frozen processes, wrong clocks, PostgreSQL and S3 away or not keeping what they confirmed, a pooler, a rebuild.
 * A reader polls the dashboard all the time.
 * Afterwards the ledger has every acknowledged event and the reports equal the service's rows.
 *
 * `npm run chaos -- lake [--seed N] [--short] [--only WORD]`: ten minutes, or two. The seed decides invoices, victims and pauses.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { request } from 'undici';
import { LOCK } from '../../warehouse/lake/ledger.ts';
import { createTraffic, type Traffic, type TrafficCounts } from '../support/billing-traffic.ts';
import { type LakeMachines, type Machine, startLakeMachines } from '../support/lake-machines.ts';
import { limitUnderLoad } from '../support/limit-under-load.ts';
import type { Product } from '../support/processes/product.ts';
import { addTo, describeSum, exact, type Sum } from '../support/published-data.ts';
import { createRandom, type Random } from '../support/random.ts';
import { startPgBouncer } from '../support/tools/pgbouncer.ts';
import { compareReports, requestVerify } from './rig.ts';

export interface DrillOptions {
  readonly seed: number;
  /** About two minutes, instead of ten. */
  readonly isShort?: boolean;
  /** Plays only the faults whose name contains this text. */
  readonly only?: string;
  readonly progress?: (text: string) => void;
}

export interface DrillResult extends TrafficCounts {
  readonly faults: readonly string[];
  /** Empty when every promise was kept. */
  readonly broken: readonly string[];
  /** How often the reader received a report, and how often an error. */
  readonly reads: number;
  readonly unanswered: number;
  /** The most connections to PostgreSQL that one worker held for half a second, of the dashboard, and of all together. */
  readonly connections: Readonly<Record<'worker' | 'dashboard' | 'all', number>>;
  /** Connections of the worker with the most, by purpose. */
  readonly ofWorker: Readonly<Record<string, number>>;
  readonly secondsToSettle: number;
  readonly seconds: number;
}

/** The machines and the traffic that faults are played on. */
interface Stage extends LakeMachines {
  readonly random: Random;
  readonly traffic: Traffic;
  readonly note: (text: string) => void;
  /** After a state was lost, invoices may come back. */
  readonly readAnew: () => void;
  /** Records a broken promise. */
  readonly fail: (text: string) => void;
}

interface Fault {
  readonly name: string;
  readonly isShort?: boolean;
  play(stage: Stage): Promise<void>;
}

const MAX_CONNECTIONS = 20;
/** Slightly less than what refuses to start. */
const CLOCK_MS = 290_000;
const CLOCKS = { 'endpoint-1': CLOCK_MS, 'worker-3': -CLOCK_MS };
const READY_WITHIN_MS = 120_000;
const SETTLED_WITHIN_MS = 240_000;
/** PostgreSQL ends the connections of a frozen process after a minute. */
const FREED_WITHIN_MS = 150_000;
const BIG_INVOICE_ROWS = 40_000;

const FAULTS: readonly Fault[] = [
  { name: 'kill -9 of a worker', isShort: true, play: (stage) => killSome(stage, stage.workers) },
  { name: 'kill -9 of an endpoint', isShort: true, play: (stage) => killSome(stage, stage.endpoints) },
  { name: 'kill -9 of the dashboard', play: (stage) => killSome(stage, [stage.dashboard]) },
  { name: 'kill -9 of Temporal and its server', play: killTemporal },
  { name: 'kill -9 of all workers', play: (stage) => killSome(stage, stage.workers, stage.workers.length) },
  {
    name: 'PostgreSQL crashes',
    isShort: true,
    play: (stage) => withoutPostgres(stage, 'immediate', () => sleep(3_000)),
  },
  {
    name: 'PostgreSQL restarts',
    play: (stage) => withoutPostgres(stage, 'fast', async () => undefined),
  },
  { name: 'PostgreSQL stops, and a worker starts meanwhile', play: startWithoutPostgres },
  { name: 'S3 is gone', isShort: true, play: (stage) => withoutS3(stage, 'break', 10_000) },
  {
    name: 'S3 answers 503',
    play: (stage) => withoutS3(stage, { status: 503, code: 'SlowDown' }, 10_000),
  },
  { name: 'S3 is gone, and an endpoint and a worker start meanwhile', play: startWithoutS3 },
  { name: 'S3 loses answers, answers late, and damages files of the archive', play: unreliableS3 },
  { name: 'PostgreSQL fails over and loses commits', isShort: true, play: loseCommits },
  { name: 'a worker comes through a pooler that drops options', play: throughPooler },
  { name: 'presence connections end, and a rebuild tries', isShort: true, play: rebuildWithoutPresence },
  { name: 'a worker whose clock is 310 s off starts', isShort: true, play: refuseClock },
  {
    name: 'a worker freezes with the lock of a commit',
    isShort: true,
    play: (stage) => freeze(stage, 'commit'),
  },
  {
    name: 'workers freeze with the locks of ingest and publication',
    play: (stage) => freeze(stage, 'publish', 'ingest'),
  },
  {
    name: 'workers freeze with the locks of a load and of tidying',
    play: (stage) => freeze(stage, 'load', 'tidy'),
  },
  { name: 'a worker freezes while it opens the lake', play: (stage) => freeze(stage, 'opening') },
  { name: 'two reconciliations tidy at once', play: tidyTwice },
  { name: 'purge and rebuild beside endpoints and dashboard', play: purgeAndRebuild },
  { name: 'kill -9 of a worker and an endpoint, after the rebuild', play: killAcross },
];

async function killSome({ random, note }: Stage, machines: readonly Machine[], count = 1): Promise<void> {
  const first = random.between(0, machines.length - 1);
  const victims = Array.from({ length: count }, (_, at) => machines[(first + at) % machines.length]);
  note(victims.map((victim) => victim?.name).join(', '));
  await Promise.all(victims.map((victim) => victim?.kill()));
  await allReady(machines);
}

async function killAcross({ workers, endpoints, random }: Stage): Promise<void> {
  const victims = [random.pick(workers), random.pick(endpoints)];
  await Promise.all(victims.map((victim) => victim.kill()));
  await allReady(victims);
}

async function killTemporal({ temporal, all }: Stage): Promise<void> {
  const pid = temporal.product.temporalPid();
  await temporal.kill();
  if (pid !== null) process.kill(pid, 'SIGKILL');
  await allReady(all);
}

async function withoutPostgres(
  { postgres, all }: Stage,
  how: 'fast' | 'immediate',
  meanwhile: () => Promise<void>,
): Promise<void> {
  await postgres.halt(how);
  try {
    await meanwhile();
  } finally {
    await postgres.start();
  }
  await allReady(all);
}

async function startWithoutPostgres(stage: Stage): Promise<void> {
  const worker = stage.random.pick(stage.workers);
  await withoutPostgres(stage, 'fast', async () => {
    await worker.kill();
    const page = await request(new URL('/invoices?search=away', stage.dashboard.address('dashboard')));
    const text = await page.body.text();
    if (page.statusCode !== 503 || !text.includes('cannot be reached')) {
      stage.fail(`without PostgreSQL a page answers ${page.statusCode}`);
    }
    await sleep(20_000);
    if (await worker.isReady()) stage.fail('a worker is ready without PostgreSQL');
  });
}

async function withoutS3(
  { s3, all }: Stage,
  fault: 'break' | { readonly status: number; readonly code: string },
  ms: number,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  s3.fault = () => fault;
  try {
    await meanwhile();
    await sleep(ms);
  } finally {
    s3.fault = () => null;
  }
  await allReady(all);
}

async function startWithoutS3(stage: Stage): Promise<void> {
  const [endpoint, worker] = [stage.random.pick(stage.endpoints), stage.random.pick(stage.workers)];
  await withoutS3(stage, 'break', 10_000, async () => {
    await Promise.all([endpoint.kill(), worker.kill()]);
    await allReady([endpoint]);
  });
}

async function unreliableS3({ s3, random, all }: Stage): Promise<void> {
  s3.fault = ({ method, url = '' }) => {
    if (random.chance(0.1)) return 'lose';
    return method === 'GET' && url.includes('/archive/files/') && random.chance(0.1) ? 'damage' : null;
  };
  s3.hold = () => (random.chance(0.1) ? sleep(random.between(0, 3_000)) : null);
  try {
    await sleep(20_000);
  } finally {
    s3.fault = () => null;
    s3.hold = () => null;
  }
  await allReady(all);
}

async function loseCommits(stage: Stage): Promise<void> {
  const { postgres, random, all, note, readAnew } = stage;
  await postgres.save();
  await allReady(all);
  const lost = (await settledCount(stage)) + random.between(1, 10);
  const isOver = limitUnderLoad(READY_WITHIN_MS);
  while ((await settledCount(stage)) < lost && !isOver()) await sleep(500);
  note(`back to the state before ${await settledCount(stage)} were settled`);
  await postgres.goBack();
  readAnew();
  await allReady(all);
}

async function throughPooler(stage: Stage): Promise<void> {
  const { postgres, catalog, workers, random, spare, query, fail } = stage;
  const worker = random.pick(workers);
  const pooler = await startPgBouncer(postgres.port, 'session');
  const pooled = await spare('pooled', 'worker', 0, {
    BILLSYNC_WAREHOUSE: catalog.replace(`port=${postgres.port}`, `port=${pooler.port}`),
  });
  // Each has a third of the connections.
  await worker.stop();
  try {
    await pooled.start();
    await allReady([pooled]);
    await sleep(15_000);
  } finally {
    const code = await pooled.stop();
    if (code !== 0) fail(`the worker behind a pooler ended with ${code}`);
    await pooler.stop();
    await worker.start();
  }
  await allReady(stage.all);
  const schemas = await query(
    "select schemaname as name from pg_tables where tablename = 'loads' and schemaname !~ '^billsync_[0-9]+$'",
  );
  if (schemas.length > 0) fail(`there are ledgers in ${schemas.map(({ name }) => name).join(', ')}`);
}

/** Either the rebuild finds the workers, or it was faster than they were and they start again on its result. */
async function rebuildWithoutPresence({ query, dashboard, all, note, fail }: Stage): Promise<void> {
  await query(
    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = $1::integer::oid",
    [LOCK.presence],
  );
  let { code, err } = await dashboard.product.command('rebuild');
  // With twenty connections it may find none; the message says so, and it is tried again.
  for (let tries = 0; code === 5 && err.includes('no free connection') && tries < 20; tries += 1) {
    await sleep(1_000);
    ({ code, err } = await dashboard.product.command('rebuild'));
  }
  note(`the rebuild ended with ${code}`);
  if (code === 8 && !/billsync worker .* pid \d+/.test(err))
    fail(`a refused rebuild names no worker: ${err}`);
  if (code !== 0 && code !== 8) fail(`a rebuild beside workers ended with ${code}: ${err}`);
  await allReady(all);
}

async function refuseClock({ spare, fail }: Stage): Promise<void> {
  const late = await spare('late', 'worker', CLOCK_MS + 20_000);
  await late.product.start('worker').catch(() => undefined);
  const code = await late.product.ended('worker');
  if (code !== 1 || !/clock is 5 min ahead/.test(late.product.log('worker'))) {
    fail(`a worker whose clock is 310 s off ended with ${code}`);
  }
}

/** Connections that wait for a lock, and those that hold it. */
const BLOCKED = `
  select w.application_name as waiting, left(w.query, 200) as query, h.application_name as holder, h.state,
      h.state_change::text as since, left(h.query, 200) as last
  from pg_stat_activity as w cross join unnest(pg_blocking_pids(w.pid)) as b(pid) join pg_stat_activity as h on h.pid = b.pid`;

/** Where a worker that holds the lock is stopped until it is frozen: a table, or the lock that it takes next. */
const GATES = {
  load: (generation: number) => `select pg_advisory_xact_lock(${LOCK.commit}, ${generation})`,
  commit: (generation: number) =>
    `lock table billsync_lake_${generation}.ducklake_snapshot in exclusive mode`,
  ingest: (generation: number) => `lock table billsync_${generation}.ingest_runs in exclusive mode`,
  publish: (generation: number) => `lock table billsync_${generation}.publication_log in exclusive mode`,
  tidy: (generation: number) =>
    `lock table billsync_lake_${generation}.ducklake_files_scheduled_for_deletion in access exclusive mode`,
  opening: (generation: number) =>
    `lock table billsync_${generation}.schema_migrations in access exclusive mode`,
} as const;

type FrozenLock = keyof typeof GATES;

/** The other workers settle invoices although the frozen ones never release their locks; those go on afterwards. */
async function freeze(stage: Stage, ...locks: readonly FrozenLock[]): Promise<void> {
  const frozen = new Set<Machine>();
  try {
    for (const lock of locks) {
      const holder = await freezeHolder(stage, lock, frozen);
      if (holder !== null) frozen.add(holder);
      stage.note(`${holder?.name ?? 'no worker'} is frozen with the lock of ${lock}`);
    }
    const before = await settledCount(stage);
    const beganMs = Date.now();
    const isOver = limitUnderLoad(FREED_WITHIN_MS);
    while ((await settledCount(stage)) < before + 3) {
      if (isOver()) {
        const blocked = await stage.query(BLOCKED);
        const names = locks.join(', ');
        return stage.fail(
          `no worker settles an invoice beside one frozen with ${names}: ${JSON.stringify(blocked)}`,
        );
      }
      await sleep(500);
    }
    stage.note(`others go on after ${Math.round((Date.now() - beganMs) / 1_000)} s`);
    // Long enough for PostgreSQL to end the connections of the frozen.
    await sleep(Math.max(0, beganMs + 65_000 - Date.now()));
  } finally {
    for (const machine of frozen) machine.product.signal('worker', 'SIGCONT');
  }
  await allReady(stage.all);
}

/** @returns null when no other worker held it in time */
async function freezeHolder(
  stage: Stage,
  lock: FrozenLock,
  frozen: ReadonlySet<Machine>,
): Promise<Machine | null> {
  const awake = stage.workers.filter((worker) => !frozen.has(worker));
  const gate = await stage.client();
  try {
    await gate.query('begin');
    await gate.query(GATES[lock](await generationOf(gate)));
    if (lock === 'opening') await stage.random.pick(awake).kill();
    if (lock === 'tidy') void stage.dashboard.product.command('schedule', 'trigger');
    const isOver = limitUnderLoad(SETTLED_WITHIN_MS);
    while (!isOver()) {
      for (const pid of await holdersOf(gate, lock)) {
        const holder = awake.find((worker) => worker.pid === pid);
        if (holder === undefined) continue;
        holder.product.signal('worker', 'SIGSTOP');
        return holder;
      }
      await sleep(20);
    }
    stage.fail(`no worker took the lock of ${lock}`);
    return null;
  } finally {
    await gate.query('rollback');
    await gate.end();
  }
}

async function holdersOf(client: pg.Client, lock: FrozenLock): Promise<readonly number[]> {
  // A transaction sees `pg_stat_activity` as at its first look, without the connections that came later.
  await client.query('select pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ name: string }>(
    `select a.application_name as name from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.classid = $1::integer::oid`,
    [LOCK[lock]],
  );
  return rows.map(({ name }) => Number(/ pid (\d+)$/.exec(name)?.[1]));
}

async function tidyTwice({ dashboard, fail }: Stage): Promise<void> {
  const reconcile = () => dashboard.product.command('reconcile', '--wait', '--json');
  for (const { code, out, err } of await Promise.all([reconcile(), reconcile()])) {
    if (code !== 0) fail(`a reconciliation ended with ${code}: ${out}${err}`);
  }
}

/** Both need the lake without workers; they come at once, and the second one waits for an operator to try again. */
async function purgeAndRebuild(stage: Stage): Promise<void> {
  const { workers, dashboard, fail, note, all } = stage;
  for (const code of await Promise.all(workers.map((worker) => worker.stop()))) {
    if (code !== 0) fail(`a stopped worker ended with ${code}`);
  }
  const before = new Date(Date.now() - 60_000).toISOString();
  const commands = [['purge', '--before', before, '--reason', 'drill', '--yes'], ['rebuild']] as const;
  const run = async (args: readonly string[], mayBeLocked: boolean): Promise<boolean> => {
    const { code, err } = await dashboard.product.command(...args);
    note(`${args[0]} ended with ${code}`);
    if (code !== 0 && !(mayBeLocked && code === 8)) fail(`${args[0]} ended with ${code}: ${err}`);
    return code === 0;
  };
  const done = await Promise.all(commands.map((args) => run(args, true)));
  for (const [at, args] of commands.entries()) if (done[at] !== true) await run(args, false);
  await Promise.all(workers.map((worker) => worker.start()));
  await allReady(all);
}

async function allReady(machines: readonly Machine[]): Promise<void> {
  const isOver = limitUnderLoad(READY_WITHIN_MS);
  for (const machine of machines) {
    while (!(await machine.isReady())) {
      if (isOver()) {
        const found = await machine.report();
        throw new Error(`${machine.name} is not ready after ${READY_WITHIN_MS / 1_000} s: ${found}`);
      }
      await sleep(250);
    }
  }
}

async function generationOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ generation: number }>('select generation from billsync.warehouse');
  return rows[0]?.generation ?? 1;
}

async function onLedger(stage: Pick<LakeMachines, 'client'>, text: string, values: unknown[] = []) {
  const client = await stage.client();
  try {
    await client.query(`set search_path = billsync_${await generationOf(client)}`);
    return (await client.query<Record<string, string>>(text, values)).rows;
  } finally {
    await client.end();
  }
}

async function settledCount(stage: Pick<LakeMachines, 'client'>): Promise<number> {
  const [row] = await onLedger(
    stage,
    "select count(*) as n from invoice_state where state in ('loaded', 'voided')",
  );
  return Number(row?.n);
}

type Books = Map<string, Sum>;

/**
 * Polls a report of the dashboard in which every invoice has a row of its own: an invoice has all of its rows or none, and one that has
 * gone, because it was voided, does not come back.
 */
function startReader({ dashboard }: LakeMachines, books: Books, fail: (text: string) => void) {
  const counts = { reads: 0, unanswered: 0 };
  const seen = new Set<string>();
  const gone = new Set<string>();
  const read = async (): Promise<void> => {
    const url = new URL('/reports/tenants/download?format=json&level=all', dashboard.address('dashboard'));
    const { statusCode, body } = await request(url, { headersTimeout: 30_000 });
    if (statusCode !== 200) throw new Error(await body.text());
    const rows = (await body.json()) as { tenant: string; shipments: number; billing_cost: string }[];
    counts.reads += 1;
    for (const { tenant, shipments, billing_cost } of rows) {
      const found = describeSum({ rows: Number(shipments), tenThousandths: exact(billing_cost) });
      if (found !== describeSum(books.get(tenant))) fail(`the dashboard shows ${found} of ${tenant}`);
      if (gone.has(tenant)) fail(`the invoice of ${tenant} has gone from the dashboard and comes back`);
    }
    const present = new Set(rows.map(({ tenant }) => tenant));
    for (const tenant of seen) if (!present.has(tenant)) gone.add(tenant);
    for (const tenant of present) seen.add(tenant);
  };
  const stop = repeat(700, () =>
    read().catch(() => {
      counts.unanswered += 1;
    }),
  );
  const readAnew = (): void => {
    seen.clear();
    gone.clear();
  };
  return { counts, stop, readAnew };
}

/** Counts the connections of each process; of a worker, those of two looks in turn. */
function watchConnections(machines: LakeMachines) {
  const before: number[] = [];
  const most = { worker: 0, dashboard: 0, all: 0 };
  let ofWorker: Record<string, number> = {};
  const text = `select application_name as name, count(*)::integer as n from pg_stat_activity
    where backend_type = 'client backend' and usename = 'billsync' group by 1`;
  const count = async (): Promise<void> => {
    const rows = await machines.query(text);
    const of = ({ pid }: Machine): Record<string, number> => {
      const own = rows.filter(({ name }) => String(name).endsWith(` pid ${pid}`));
      return Object.fromEntries(own.map(({ name, n }) => [String(name).split(' ')[1] ?? '', Number(n)]));
    };
    const sum = (values: readonly unknown[]): number => values.reduce<number>((all, n) => all + Number(n), 0);
    for (const [index, found] of machines.workers.map(of).entries()) {
      const now = sum(Object.values(found));
      // One that is replaced is counted beside its successor for a moment.
      const lasting = Math.min(now, before[index] ?? 0);
      before[index] = now;
      if (lasting > most.worker) ofWorker = found;
      most.worker = Math.max(most.worker, lasting);
    }
    most.dashboard = Math.max(most.dashboard, sum(Object.values(of(machines.dashboard))));
    most.all = Math.max(most.all, sum(rows.map(({ n }) => n)));
  };
  const stop = repeat(500, () => count().catch(() => undefined));
  return { most, ofWorker: () => ofWorker, stop };
}

/** @returns a function that ends the repetition */
function repeat(pauseMs: number, work: () => Promise<void>): () => Promise<void> {
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      await work();
      await sleep(pauseMs);
    }
  })();
  return async () => {
    isOver = true;
    await running;
  };
}

export async function runDrill(options: DrillOptions): Promise<DrillResult> {
  const { seed, isShort = false, only = '', progress = () => undefined } = options;
  const beganMs = Date.now();
  const broken = new Set<string>();
  const note = (text: string): void => progress(`${Math.round((Date.now() - beganMs) / 1_000)} s: ${text}`);
  const fail = (text: string): void => {
    note(`BROKEN ${text}`);
    broken.add(text);
  };
  const machines = await startLakeMachines({
    ...{ seed, workers: 3, endpoints: 2, maxConnections: MAX_CONNECTIONS, clocks: CLOCKS },
  });
  let isSound = false;
  try {
    await machines.temporal.start();
    await Promise.all(machines.all.slice(1).map((machine) => machine.start()));
    note('all are ready');
    const books: Books = new Map();
    let isOver = false;
    const traffic = createTraffic({
      service: { ...machines.service, createInvoice: (wanted) => keepBooks(machines, books, wanted) },
      webhookUrl: machines.endpoints.map((endpoint) => endpoint.address('webhook')),
      ...{ invoices: 10_000, seed, pauseMs: 5_000, isOver: () => isOver },
      tenantOf: (number) => `Tenant ${number}`,
      rowsOf: (number) => (number % 100 === 30 ? BIG_INVOICE_ROWS : undefined),
    });
    const reader = startReader(machines, books, fail);
    const { readAnew } = reader;
    const stage: Stage = { ...machines, random: createRandom(seed), traffic, note, fail, readAnew };
    const connections = watchConnections(machines);
    const running = traffic.run();
    const faults = FAULTS.filter(
      (fault) => (!isShort || fault.isShort === true) && fault.name.includes(only),
    );
    for (const fault of faults) {
      note(fault.name);
      await fault.play(stage).catch((error: unknown) => fail(`${fault.name}: ${describe(error)}`));
      await sleep(stage.random.between(0, 2_000));
    }
    isOver = true;
    await running;
    note(`sent: ${JSON.stringify(traffic.counts())}`);
    const sentMs = Date.now();
    await settled(stage);
    const secondsToSettle = Math.round((Date.now() - sentMs) / 1_000);
    note(`settled after ${secondsToSettle} s`);
    await allReady(machines.all);
    await sleep(2_000);
    await Promise.all([reader.stop(), connections.stop()]);
    await inspect(stage);
    isSound = broken.size === 0;
    return {
      ...{
        ...traffic.counts(),
        faults: faults.map(({ name }) => name),
        broken: [...broken],
        ...reader.counts,
      },
      ...{
        connections: connections.most,
        ofWorker: connections.ofWorker(),
        secondsToSettle,
        seconds: Math.round((Date.now() - beganMs) / 1_000),
      },
    };
  } finally {
    if (!isSound) for (const { name, product } of machines.all) note(`${name} is kept: ${product.logFolder}`);
    await machines.close({ keep: !isSound });
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function keepBooks(
  { service }: LakeMachines,
  books: Books,
  wanted: Parameters<LakeMachines['service']['createInvoice']>[0],
) {
  const invoice = await service.createInvoice(wanted);
  for (const { tenant, billingCost } of invoice.rows) addTo(books, tenant, billingCost);
  return invoice;
}

/** Waits as long as the number of open invoices falls. @throws Error with open invoices */
async function settled(stage: Stage): Promise<void> {
  const { billed, voided } = stage.traffic.truth();
  const expected = new Map([
    ...billed.map(({ invoiceId }) => [invoiceId, 'loaded'] as const),
    ...voided.map((invoiceId) => [invoiceId, 'voided'] as const),
  ]);
  let fewest = expected.size + 1;
  let isOver = limitUnderLoad(SETTLED_WITHIN_MS);
  for (;;) {
    const rows = await onLedger(stage, 'select invoice_id::text as id, state from invoice_state');
    const states = new Map(rows.map(({ id, state }) => [id, state]));
    const open = [...expected].filter(([id, state]) => states.get(id) !== state);
    if (open.length === 0) return;
    if (open.length < fewest) {
      fewest = open.length;
      isOver = limitUnderLoad(SETTLED_WITHIN_MS);
    }
    if (isOver()) {
      const some = open.slice(0, 5).map(([id, state]) => `${id} is ${states.get(id)}, not ${state}`);
      throw new Error(`${open.length} invoices are not settled: ${some.join('; ')}`);
    }
    await sleep(500);
  }
}

async function inspect(stage: Stage): Promise<void> {
  const { all, dashboard, service, traffic, fail } = stage;
  const rows = await onLedger(stage, 'select event_id from event_ledger');
  const known = new Set(rows.map(({ event_id }) => event_id));
  const missing = traffic.truth().acknowledged.filter((eventId) => !known.has(eventId));
  if (missing.length > 0) {
    fail(`${missing.length} acknowledged events are not in the ledger: ${missing.slice(0, 5).join(', ')}`);
  }
  for (const text of await compareReports(dashboard.product, service.billedRows())) fail(text);
  for (const text of await requestVerify(dashboard.product)) fail(text);
  for (const complaint of service.complaints) fail(complaint);
  for (const { name, ended, product } of all) {
    // 8: the warehouse was rebuilt.
    const codes = ended.filter((code) => code !== 8);
    if (codes.length > 0) fail(`${name} ended by itself with ${codes.join(', ')}: ${lastWords(product)}`);
  }
  const { out } = await dashboard.product.command('alerts', 'list', '--json');
  if (!out.includes('"clock"')) fail(`no alert names a wrong clock: ${out}`);
}

/** What a worker that ended by itself printed for people, and the errors that it logged as fatal. */
function lastWords({ log }: Pick<Product, 'log'>): string {
  const lines = log('worker').split('\n');
  return lines
    .filter((line) => /^(?!\{|ready )./.test(line) || line.startsWith('{"level":"fatal"'))
    .join(' | ');
}

export const summary =
  'three workers, two endpoints and a dashboard on one lake under all faults of the list [--seed N] [--short] [--only WORD]';

/** @throws Error a promise was broken */
export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { seed: { type: 'string', default: '1' }, short: { type: 'boolean' }, only: { type: 'string' } },
  });
  const result = await runDrill({
    seed: Number(values.seed),
    isShort: values.short === true,
    ...(values.only === undefined ? {} : { only: values.only }),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  if (result.broken.length > 0) throw new Error(`${result.broken.length} promises were broken`);
}
