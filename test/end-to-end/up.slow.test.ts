/**
 * The whole of billsync as real processes against a service that shares no line with it: another maker's prefix, a
 * private CA, tokens of three seconds. It is killed and stopped, and every total stays right.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { METRICS } from '../../lib/metrics.ts';
import { findProcesses, isAlive } from '../../lib/processes.ts';
import { eventually } from '../support/eventually.ts';
import { type ForeignService, serviceSettings, startForeignService } from '../support/foreign-service.ts';
import { billsync, type RunningRole, startRole } from '../support/processes/billsync.ts';
import { freePort } from '../support/processes/free-port.ts';
import { useAllThreads } from '../support/processes/one-duckdb-thread.ts';
import { runCommand } from '../support/processes/run-command.ts';
import {
  billedSums,
  differences,
  publishedStates,
  reportedSums,
  runJson,
} from '../support/published-data.ts';
import { promtool } from '../support/tools/installed-tools.ts';

// The product as it is started elsewhere.
useAllThreads();

const PASSWORD = 'p:a+s/s=wörd';
/** Nothing of a path may be read as syntax: neither by DuckDB, nor in the URI of Temporal's database. */
const folder = mkdtempSync(join(tmpdir(), 'billsync-up a#b%20[c] é-'));
const dataDir = join(folder, 'data');
/** All that a command beside a running `up` may need. */
const beside = { BILLSYNC_DATA_DIR: dataDir };

let service: ForeignService;
let env: Record<string, string>;
let up: RunningRole;
let logged = '';

async function start(): Promise<void> {
  up = await startRole(['up'], { env, cwd: folder, ownGroup: true });
  register();
}

function register(): void {
  service.register({
    url: up.addresses.webhook ?? '',
    headers: { authorization: `Basic ${Buffer.from(`service:${PASSWORD}`).toString('base64')}` },
    caPem: readFileSync(join(dataDir, 'keys', 'webhook-cert.pem'), 'utf8'),
  });
}

async function stop(signal: 'SIGINT' | 'SIGKILL'): Promise<number | null> {
  const exitCode = signal === 'SIGKILL' ? await up.end(signal) : await up.endGroup(signal);
  logged += up.stderr();
  return exitCode;
}

beforeAll(async () => {
  service = await startForeignService();
  env = {
    ...beside,
    ...serviceSettings(service),
    BILLSYNC_WEBHOOK_HOST: '127.0.0.1',
    BILLSYNC_WEBHOOK_PORT: String(await freePort()),
    BILLSYNC_WEBHOOK_BASIC_AUTH: `service:${PASSWORD}`,
    BILLSYNC_ADMIN_PORT: '0',
    BILLSYNC_OVERDUE_AFTER: '5s',
    BILLSYNC_ALERT_FILE: join(folder, 'alerts.ndjson'),
  };
  await start();
});

afterAll(async () => {
  await up?.end('SIGKILL');
  endTemporal();
  await service?.close();
});

/** One of the two that `up` looks after. */
function processOf(role: 'webhook' | 'worker' | 'dashboard'): number {
  const [pid] = findProcesses([role, realpathSync(dataDir)]);
  if (pid === undefined) throw new Error(`No ${role} runs.`);
  return pid;
}

async function readReady(): Promise<{ isReady: boolean; components: Record<string, unknown> }> {
  const answer = await fetch(new URL('/readyz', up.addresses.dashboard));
  return (await answer.json()) as Awaited<ReturnType<typeof readReady>>;
}

/** A kill -9 of `up` leaves its Temporal server to the next start; the last one is ours to end. */
function endTemporal(): void {
  try {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'run', 'temporal.json'), 'utf8')) as {
      pid: number;
    };
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended with `up`.
  }
}

interface Invoice {
  readonly state: string;
}

const json = <T>(...args: string[]): Promise<T> => runJson<T>(args, beside);

/** Waits for the published file without starting a process for each check; the commands run once it exists. */
async function untilSettled(count: number): Promise<void> {
  await eventually(
    () => publishedStates(dataDir),
    (states) =>
      states.size === count && [...states.values()].every((state) => /^(loaded|voided)$/.test(state)),
  );
}

async function expectExact(): Promise<void> {
  expect(differences(billedSums(service.billedRows()), await reportedSums(beside))).toEqual([]);
}

describe('billsync up', { shuffle: false }, () => {
  test('loads the invoices of a foreign service and reports them to the fourth decimal', async () => {
    const tenants = ['Nord & Süd', 'Plain', 'Plain', 'Third, "Ltd."'];
    const invoices = [];
    for (const tenant of tenants) invoices.push(await service.createInvoice({ tenant, rows: 40 }));
    for (const { invoiceId } of invoices) await service.finalize(invoiceId);
    const gone = await service.createInvoice({ tenant: 'Plain', rows: 10 });
    await service.finalize(gone.invoiceId);
    await service.void(gone.invoiceId);

    await untilSettled(5);
    const listed = await json<Invoice[]>('invoices', 'list');
    expect(listed.map(({ state }) => state).sort()).toEqual([...Array(4).fill('loaded'), 'voided']);
    await expectExact();
    expect((await json<{ drift: unknown[] }>('verify')).drift).toEqual([]);
  });

  test('refuses a second instance and names the first', async () => {
    const second = await billsync(['up'], { env, cwd: folder });
    expect(second.exitCode).toBe(8);
    expect(second.stderr).toMatch(String(up.child.pid));
  });

  test('serves exactly the documented metrics', async () => {
    const metrics = await eventually(
      async () => (await fetch(new URL('/metrics', up.addresses.dashboard))).text(),
      (text) => /^billsync_invoices\{state="loaded",role="worker"\} 4$/m.test(text),
    );
    const served = new Set([...metrics.matchAll(/^# TYPE billsync_(\S+)/gm)].map(([, name = '']) => name));
    expect([...served].sort()).toEqual(Object.keys(METRICS).sort());
    expect(metrics).toMatch(/^billsync_shipments\{role="worker"\} 160$/m);
    expect(metrics).toMatch(
      /^billsync_service_calls_total\{endpoint="token",answer="200",role="worker"\} [1-9]/m,
    );
    expect(metrics).toMatch(/^billsync_component_up\{component="endpoint",role="dashboard"\} 1$/m);
    expect(metrics).toMatch(
      /^temporal_activity_execution_latency_seconds_count\{.*activity_type="downloadCsv"/m,
    );
    const ours = metrics.split(/^(?=# HELP )/m).filter((metric) => metric.startsWith('# HELP billsync_'));
    const { exitCode, output } = await promtool(['check', 'metrics'], { input: `${ours.join('').trim()}\n` });
    expect([exitCode, output]).toEqual([0, '']);
  });

  test('fetches an invoice without an event', async () => {
    const silent = await service.createInvoice({ tenant: 'Plain', rows: 7 });
    service.register({ url: 'https://127.0.0.1:9/nobody' });
    await service.finalize(silent.invoiceId);
    const finished = await billsync(['backfill', '--ids', '-', '--wait', '--ndjson'], {
      env: beside,
      input: `${silent.invoiceId}\n`,
    });
    expect(
      finished.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([expect.objectContaining({ invoice_id: silent.invoiceId, state: 'loaded' })]);
    expect(finished.exitCode).toBe(0);
    // Readers see it as soon as the command has ended.
    expect((await publishedStates(dataDir)).get(silent.invoiceId)).toBe('loaded');
    const retried = await billsync(['invoices', 'retry', silent.invoiceId, '--wait'], { env: beside });
    expect([retried.exitCode, retried.stdout]).toEqual([0, `${silent.invoiceId}  loaded\n`]);
    expect((await billsync(['backfill', '--ids', '-', '--wait'], { env: beside, input: '' })).exitCode).toBe(
      3,
    );
  });

  test('keeps its endpoint open while the worker restarts, and the reverse', async () => {
    const { invoiceId } = await service.createInvoice({ tenant: 'Plain', rows: 5 });
    register();
    process.kill(processOf('worker'), 'SIGKILL');
    await service.finalize(invoiceId);
    for (const event of service.events.slice(-1)) expect(await service.deliver(event)).toBe(200);
    const before = processOf('webhook');
    process.kill(before, 'SIGKILL');
    await eventually(
      async () => processOf('webhook'),
      (pid) => pid !== before,
    );
    const again = () => service.deliver(service.events.at(-1) ?? '').catch(() => 0);
    await eventually(again, (status) => status === 200);
    await eventually(
      () => publishedStates(dataDir),
      (states) => states.get(invoiceId) === 'loaded',
    );
    const ready = await eventually(readReady, ({ isReady }) => isReady);
    expect(Object.keys(ready.components)).toEqual(expect.arrayContaining(['endpoint', 'inbox', 'warehouse']));
    const metrics = await (await fetch(new URL('/metrics', up.addresses.dashboard))).text();
    expect(metrics).toMatch(/^billsync_deliveries_total\{.*role="webhook".*\} [1-9]/m);
    expect(metrics).toMatch(/^billsync_process_restarts_total\{process="worker",role="up"\} 1$/m);
    expect(metrics.match(/^# TYPE billsync_deliveries_total/gm)).toHaveLength(1);
    const alerts = () => readFileSync(join(folder, 'alerts.ndjson'), 'utf8');
    for (const key of ['process/worker', 'process/webhook'])
      expect(alerts()).toMatch(new RegExp(`"raised","key":"${key}"`));
    // The dashboard is a process of its own, so that it shows what happened to the others.
    const page = await (await fetch(new URL('/alerts', up.addresses.dashboard))).text();
    expect(page).toContain('/runbook#process');
    const [worker, dashboard] = [processOf('worker'), processOf('dashboard')];
    process.kill(dashboard, 'SIGKILL');
    await eventually(
      () => readReady().catch(() => null),
      (state) => state?.isReady === true,
    );
    expect([processOf('worker'), processOf('dashboard') === dashboard]).toEqual([worker, false]);
    for (const key of ['process/worker', 'process/webhook', 'process/dashboard'])
      await eventually(
        async () => alerts(),
        (text) => text.includes(`"resolved","key":"${key}"`),
      );
  });

  test('is killed with -9 amid deliveries and restarts: nothing lost, nothing doubled', async () => {
    await stop('SIGKILL');
    await start();
    const invoices = [];
    for (let index = 0; index < 6; index += 1)
      invoices.push(await service.createInvoice({ tenant: 'Plain', rows: 30 }));
    const finalizing = invoices.map(({ invoiceId }) => service.finalize(invoiceId));
    // One that is frozen cannot see that its `up` is gone: the next start ends it.
    process.kill(processOf('worker'), 'SIGSTOP');
    await stop('SIGKILL');
    await Promise.allSettled(finalizing);
    await start();
    for (const event of service.events.slice(-12)) expect(await service.deliver(event)).toBe(200);
    await untilSettled(13);
    await expectExact();
    expect((await json<{ drift: unknown[] }>('verify')).drift).toEqual([]);
  });

  test('ends with 0 on an interrupt, with its Temporal server', async () => {
    const { pid } = JSON.parse(readFileSync(join(dataDir, 'run', 'temporal.json'), 'utf8')) as {
      pid: number;
    };
    const begun = Date.now();
    const before = up.stderr().length;
    expect(await stop('SIGINT')).toBe(0);
    // Its processes ended in order, without an alert.
    expect(up.stderr().slice(before)).not.toMatch(/is restarted|alert raised/);
    expect(Date.now() - begun).toBeLessThan(60_000);
    expect(isAlive(pid)).toBe(false);
    expect(findProcesses([realpathSync(dataDir)])).toEqual([]);
    expect(readdirSync(join(dataDir, 'run')).filter((name) => /^[a-z]+\.(json|lock)$/.test(name))).toEqual(
      [],
    );
  });

  test('runs writer commands itself when it is stopped', async () => {
    expect((await json<{ drift: unknown[] }>('verify')).drift).toEqual([]);
    const before = await reportedSums(beside);
    expect((await runCommand(['rebuild', '--quiet'], { env: beside })).exitCode).toBe(0);
    expect(await reportedSums(beside)).toEqual(before);
  });

  test('kept to the specification and sent no secret', () => {
    expect(service.complaints).toEqual([]);
    const secrets = [
      service.clientSecret,
      encodeURIComponent(service.clientSecret),
      PASSWORD,
      'X-Amz-Signature',
    ];
    for (const secret of secrets)
      expect(logged.includes(secret), `log holds ${secret.slice(0, 4)}…`).toBe(false);
    const found = filesBelow(dataDir)
      .filter((path) => !/^(inbox|keys)\//.test(path))
      .filter((path) => secrets.some((secret) => readFileSync(join(dataDir, path)).includes(secret)));
    expect(found).toEqual([]);
  });

  test('keeps its folder private', () => {
    expect(statSync(join(dataDir, 'warehouse.duckdb')).mode & 0o077).toBe(0);
    const open = execFileSync('find', [dataDir, '-perm', '/077'], { encoding: 'utf8' })
      .trim()
      .split('\n')
      .filter(Boolean);
    expect(open.filter((path) => path !== dataDir)).toEqual([]);
  });
});

function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}
