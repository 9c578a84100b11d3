/**
 * Processor time of one plain invoice from its webhook to its rows: created, then finalized, twenty shipments. Endpoint, worker
 * and Temporal are processes of their own. The floor is a workflow with one activity on the same server in the same run.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import protos from '@temporalio/proto';
import { openConnection } from '../../lib/temporal/connect.ts';
import { invoiceWorkflowId } from '../../lib/wire/names.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { freePort } from '../support/processes/free-port.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { publishedStates } from '../support/published-data.ts';
import { cpuOf } from './support/process-cpu.ts';
import { expectKept } from './support/rounds.ts';

export const summary = 'webhook to loaded: processor time of endpoint, worker and Temporal [invoices] [rows]';

/** Processor time of the three processes together, as a ratio to the floor. */
const MAX_RATIO = 2.5;
const PROCESSES = ['worker', 'temporal', 'endpoint'] as const;
type Process = (typeof PROCESSES)[number];

const FLOOR = fileURLToPath(new URL('./support/one-activity.ts', import.meta.url));
const AT_ONCE = 16;
const WARM_UP = 60;
const SETTLED_WITHIN_MS = 300_000;

export async function main([count = '600', rows = '20']: readonly string[]): Promise<void> {
  const service = await startForeignService({ tokenLifetimeSeconds: 3_600 });
  const address = `127.0.0.1:${await freePort()}`;
  const settings = { TEMPORAL_ADDRESS: address, BILLSYNC_OVERDUE_AFTER: '1h', LOG_LEVEL: 'info' };
  const product = await createProduct({ service, settings });
  try {
    await Promise.all((['temporal', 'webhook', 'worker'] as const).map((role) => product.start(role)));
    register(service, product);
    await settle(service, product, { count: WARM_UP, rows: Number(rows) });
    const taken = await settle(service, product, { count: Number(count), rows: Number(rows) });
    const floor = await oneActivityEach(address, product, Number(count));
    const each = (ms: number): number => ms / Number(count);
    const rate = (ms: number): string => (Number(count) / (ms / 1000)).toFixed(1);
    print(`${count} invoices of ${rows} rows, milliseconds of processor time per invoice\n`);
    print(`| side | ${PROCESSES.join(' | ')} | per second |`);
    print(`|---|${PROCESSES.map(() => '---|').join('')}---|`);
    for (const [name, side] of [
      ['billsync', taken],
      ['floor', floor],
    ] as const) {
      const used = PROCESSES.map((process) => each(side.cpuMs[process]).toFixed(1));
      print(`| ${name} | ${used.join(' | ')} | ${rate(side.ms)} |`);
    }
    print(`\nHistory of one: ${await historyOf(address, service, taken.invoiceIds[0] ?? '')}`);
    const all = ({ cpuMs }: Taken): number => PROCESSES.reduce((sum, process) => sum + cpuMs[process], 0);
    const what = 'processor time from webhook to loaded, to a workflow with one activity';
    expectKept([{ what, found: all(taken) / all(floor), atMost: MAX_RATIO }]);
  } finally {
    await product.close();
    await service.close();
  }
}

function register(service: ForeignService, product: Product): void {
  const credentials = Buffer.from(`${product.user}:${product.password}`).toString('base64');
  service.register({
    url: product.webhookUrl,
    headers: { authorization: `Basic ${credentials}` },
    caPem: readFileSync(join(product.dataDir, 'keys', 'webhook-cert.pem'), 'utf8'),
    keepsConnections: true,
  });
}

interface Taken {
  readonly ms: number;
  readonly cpuMs: Readonly<Record<Process, number>>;
}

type Settled = Taken & { readonly invoiceIds: readonly string[] };

/** Creates all invoices, then finalizes all, so that each has two events. Resolves when the published file has all of them. */
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

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
