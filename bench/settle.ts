/**
 * What one plain invoice costs from its webhook to its rows: created, then finalized, twenty shipments. Endpoint, worker
 * and Temporal are processes of their own, and the processor time of each is what is compared: it hardly changes with what
 * else the machine does. The floor is a workflow with one activity on the same server in the same run.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import protos from '@temporalio/proto';
import { invoiceWorkflowId } from '../contract/names.ts';
import { openConnection } from '../temporal/connect.ts';
import { type ForeignService, startForeignService } from '../test/support/foreign-service/foreign-service.ts';
import { publishedStates } from '../test/support/invariants/published-states.ts';
import { freePort } from '../test/support/processes/free-port.ts';
import { createProduct, type Product } from '../test/support/processes/product.ts';
import { draw } from './support/plot.ts';
import { cpuOf } from './support/process-figures.ts';
import { expectKept, type Promised } from './support/rounds.ts';

export const summary = 'webhook to loaded: processor time of endpoint, worker and Temporal [invoices] [rows]';

/** Milliseconds of processor time an invoice. */
const PROMISED = { worker: 25, temporal: 25, endpoint: 6 } as const;
/** 28 a second. */
const APART_MS = 36;
type Process = keyof typeof PROMISED;
const PROCESSES = Object.keys(PROMISED) as Process[];

const FLOOR = fileURLToPath(new URL('./support/one-activity.ts', import.meta.url));
/** Connections of the service to the endpoint. */
const AT_ONCE = 16;
const WARM_UP = 60;
/** In this order: V8 is still compiling in the first, the others are what an endpoint takes that has run for a while. */
const RUNS = [
  { name: 'first, a connection each', keepsConnections: false },
  { name: 'warm, connections kept', keepsConnections: true },
  { name: 'warm, a connection each', keepsConnections: false },
] as const;
const SETTLED_WITHIN_MS = 300_000;

/** @throws Error a promised figure was missed */
export async function main(args: readonly string[]): Promise<void> {
  expectKept(await measure(args));
}

export async function measure([count = '600', rows = '20']: readonly string[]): Promise<readonly Promised[]> {
  const service = await startForeignService({ tokenLifetimeSeconds: 3_600 });
  const address = `127.0.0.1:${await freePort()}`;
  const settings = { TEMPORAL_ADDRESS: address, BILLSYNC_OVERDUE_AFTER: '1h', LOG_LEVEL: 'info' };
  const product = await createProduct({ service, settings });
  try {
    await Promise.all((['temporal', 'webhook', 'worker'] as const).map((role) => product.start(role)));
    register(service, product, false);
    await settle(service, product, { count: WARM_UP, rows: Number(rows) });
    const runs: { readonly name: string; readonly taken: Settled }[] = [];
    for (const { name, keepsConnections } of RUNS) {
      register(service, product, keepsConnections);
      const taken = await settle(service, product, { count: Number(count), rows: Number(rows) });
      runs.push({ name, taken });
    }
    const floor = await oneActivityEach(address, product, Number(count));
    const each = (ms: number): number => ms / Number(count);
    const rate = (ms: number): string => (Number(count) / (ms / 1000)).toFixed(1);
    say(`${count} invoices of ${rows} rows, milliseconds of processor time an invoice\n`);
    say(`| deliveries | ${PROCESSES.join(' | ')} | a second |`);
    say(`|---|${PROCESSES.map(() => '---|').join('')}---|`);
    const sides = [...runs, { name: 'floor', taken: floor }];
    for (const { name, taken } of sides) {
      const used = PROCESSES.map((process) => each(taken.cpuMs[process]).toFixed(1));
      say(`| ${name} | ${used.join(' | ')} | ${rate(taken.ms)} |`);
    }
    const [first] = runs;
    if (first === undefined) throw new Error('nothing was settled');
    await draw({
      ...{ file: 'settle', title: 'An invoice from its webhook to its rows', unit: 'ms of processor time' },
      ...{ kind: 'stacked', names: sides.map(({ name }) => name) },
      series: Object.fromEntries(
        PROCESSES.map((process) => [process, sides.map(({ taken }) => each(taken.cpuMs[process]))]),
      ),
    });
    say(`\nHistory of one: ${await historyOf(address, service, first.taken.invoiceIds[0] ?? '')}`);
    const heavy = (['worker', 'temporal'] as const).map((name) => ({
      ...{ what: `ms of the ${name}, an invoice`, found: each(first.taken.cpuMs[name]) },
      ...{ atMost: PROMISED[name], floor: `${each(floor.cpuMs[name]).toFixed(1)} ms` },
    }));
    const endpoint = runs.map(({ name, taken }) => ({
      ...{ what: `ms of the endpoint, an invoice, ${name}`, found: each(taken.cpuMs.endpoint) },
      atMost: PROMISED.endpoint,
    }));
    const pace = { what: 'ms from one invoice to the next, on idle cores', found: each(first.taken.ms) };
    return [
      ...[...heavy, ...endpoint],
      { ...pace, atMost: APART_MS, floor: `${each(floor.ms).toFixed(1)} ms` },
    ];
  } finally {
    await product.close();
    await service.close();
  }
}

function register(service: ForeignService, product: Product, keepsConnections: boolean): void {
  const credentials = Buffer.from(`${product.user}:${product.password}`).toString('base64');
  service.register({
    url: product.webhookUrl,
    headers: { authorization: `Basic ${credentials}` },
    caPem: readFileSync(join(product.dataDir, 'keys', 'webhook-cert.pem'), 'utf8'),
    keepsConnections,
  });
}

interface Taken {
  readonly ms: number;
  readonly cpuMs: Readonly<Record<Process, number>>;
}

type Settled = Taken & { readonly invoiceIds: readonly string[] };

/** All are created, then all are finalized, so that each is heard of twice. Ends when readers see all of them loaded. */
async function settle(
  service: ForeignService,
  product: Product,
  { count, rows }: { readonly count: number; readonly rows: number },
): Promise<Settled> {
  const invoiceIds: string[] = [];
  const [began, before] = [performance.now(), cpuOfAll(product)];
  await atOnce(count, async () => {
    invoiceIds.push((await service.createInvoice({ tenant: 'One', rows })).invoiceId);
  });
  await atOnce(count, async (number) => {
    await service.finalize(invoiceIds[number] ?? '');
  });
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const states = await publishedStates(product.dataDir);
    const waiting = invoiceIds.filter((invoiceId) => states.get(invoiceId) !== 'loaded').length;
    if (waiting === 0) break;
    if (Date.now() > deadline) throw new Error(`${waiting} of ${count} are not loaded`);
    await sleep(100);
  }
  const after = cpuOfAll(product);
  const used = PROCESSES.map((name) => [name, after[name] - before[name]]);
  return { ms: performance.now() - began, cpuMs: Object.fromEntries(used), invoiceIds };
}

async function atOnce(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const line = async (): Promise<void> => {
    for (let number = next++; number < count; number = next++) await work(number);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
}

function cpuOfAll(product: Product): Taken['cpuMs'] {
  return {
    worker: cpuOf(product.pid('worker') ?? 0),
    temporal: cpuOf(product.temporalPid() ?? 0),
    endpoint: cpuOf(product.pid('webhook') ?? 0),
  };
}

async function oneActivityEach(address: string, product: Product, count: number): Promise<Taken> {
  const args = [FLOOR, address, `${count}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  const before = cpuOfAll(product);
  const { value } = await lines.next();
  const { ms, cpuMs } = JSON.parse(String(value)) as { ms: number; cpuMs: number };
  const temporal = cpuOfAll(product).temporal - before.temporal;
  await once(child, 'exit');
  return { ms, cpuMs: { worker: cpuMs, temporal, endpoint: 0 } };
}

/** What Temporal had to remember of one invoice, by kind of event. */
async function historyOf(address: string, { partnerId }: ForeignService, invoiceId: string): Promise<string> {
  const connection = await openConnection({ address });
  try {
    const workflowId = invoiceWorkflowId({ environment: 'test', partnerId, invoiceId });
    const { history } = await connection.workflowService.getWorkflowExecutionHistory({
      ...{ namespace: 'default', execution: { workflowId } },
    });
    const counts = new Map<string, number>();
    const types = protos.temporal.api.enums.v1.EventType;
    for (const { eventType } of history?.events ?? []) {
      const name = types[eventType ?? 0] ?? '';
      const short = name.replace('EVENT_TYPE_', '').toLowerCase();
      counts.set(short, (counts.get(short) ?? 0) + 1);
    }
    const list = [...counts].map(([name, times]) => `${times} ${name}`).join(', ');
    return `${history?.events?.length ?? 0} events (${list})`;
  } finally {
    await connection.close();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
