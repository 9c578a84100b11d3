/**
 * Is the sandbox fast enough to rehearse against? A burst of finalized invoices has to reach an endpoint that answers
 * at once; how long that takes is shown as a share of a load generator's time. A file of millions of rows has to be served
 * in little memory. Bursts and load take turns under the same conditions, and each burst is compared with the load right
 * after it.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { Pool, request } from 'undici';
import type { ReceiverMessage } from './support/instant-receiver.ts';
import { type ServedSandbox, serveSandbox } from './support/served-sandbox.ts';

export const summary = 'burst of deliveries against a load generator; memory of a file of 5 million rows';

const INVOICES = 1_000;
const ROWS = 500;
/** Of the burst that opens the connections: enough to have all of them in use. */
const OPENING_INVOICES = 100;
const TURNS = 9;
/** Turns before those that count: sender, endpoint and generator are compiled by then. */
const WARM_UP_TURNS = 3;
const LARGE_ROWS = 5_000_000;
const MOST_MEMORY = 200 * 1024 * 1024;
/** As many connections as the sandbox opens to one endpoint. */
const CONNECTIONS = 16;

/** @param args `burst` or `file` for one of them */
export async function main(args: readonly string[]): Promise<void> {
  const complaints: string[] = [];
  if (args[0] !== 'file') await measureBurst();
  if (args[0] !== 'burst') complaints.push(...(await measureFile()));
  if (complaints.length > 0) throw new Error(complaints.join('; '));
}

async function measureBurst(): Promise<void> {
  const receiver = await startReceiver();
  const sandbox = await serveSandbox();
  try {
    await sandbox.post('/registrations', { name: 'burst', url: receiver.url, active: true });
    const bursts: Taken[] = [];
    const loads: Taken[] = [];
    for (let turn = 0; turn < WARM_UP_TURNS + TURNS; turn += 1) {
      bursts.push(await burst(sandbox, receiver));
      const [event] = (await sandbox.get('/events?limit=1')) as [{ readonly body: string }];
      loads.push(await load(receiver, event.body));
    }
    tellShares(bursts.slice(WARM_UP_TURNS), loads.slice(WARM_UP_TURNS));
  } finally {
    await sandbox.close();
    receiver.child.kill();
  }
}

function tellShares(bursts: readonly Taken[], loads: readonly Taken[]): void {
  const shares = bursts.map((burst, turn) => (loads[turn]?.elapsedMs ?? Number.NaN) / burst.elapsedMs);
  const share = median(shares);
  const bestShare = best(loads) / best(bursts);
  say(`load generator   ${figures(loads)}`);
  say(`finalized burst  ${figures(bursts)}`);
  say(`shares           ${shares.map((one) => one.toFixed(2)).join(', ')}`);
  say(
    `share            ${share.toFixed(2)} of what the endpoint takes (median), ` +
      `${bestShare.toFixed(2)} of best by best`,
  );
}

/** What a thousand requests took: on the clock, and of the CPU of the process that sent them. */
interface Taken {
  readonly elapsedMs: number;
  readonly cpuMs: number;
}

/**
 * From the call that approves all to the last delivery's arrival. A burst that does not count comes first: it opens the
 * connections, which an endpoint closes when little comes for some seconds, as while a thousand invoices are made.
 */
async function burst(sandbox: ServedSandbox, receiver: Receiver): Promise<Taken> {
  const opening = await pendingInvoices(sandbox, { times: OPENING_INVOICES, shipments: 1 });
  await pendingInvoices(sandbox, { times: INVOICES, shipments: ROWS });
  await sandbox.post('/invoices/approve', { invoiceIds: opening });
  await sandbox.post('/idle');
  const { reached } = await receiver.expect(INVOICES);
  const cpu = sandbox.cpuTime();
  const start = performance.now();
  const approved = sandbox.post('/invoices/approve', {});
  await reached;
  const elapsedMs = performance.now() - start;
  await approved;
  await sandbox.post('/idle');
  return { elapsedMs, cpuMs: sandbox.cpuTime() - cpu };
}

/** Invoices that wait for approval, whose deliveries so far are over. @returns their ids */
async function pendingInvoices(
  sandbox: ServedSandbox,
  { times, shipments }: { readonly times: number; readonly shipments: number },
): Promise<readonly string[]> {
  const created = { eventType: 'invoice_created', times, invoice: { shipments } };
  const invoices = (await sandbox.post('/trigger', created)) as { readonly invoiceId: string }[];
  const invoiceIds = invoices.map(({ invoiceId }) => invoiceId);
  await sandbox.post('/invoices/submit', { invoiceIds });
  await sandbox.post('/idle');
  return invoiceIds;
}

/**
 * What the endpoint takes from a generator that does nothing but send. A round that does not count comes first and
 * opens the connections, as before a burst.
 */
async function load(receiver: Receiver, body: string): Promise<Taken> {
  const { origin, pathname } = new URL(receiver.url);
  const connect = { rejectUnauthorized: false };
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1, connect });
  await loadRound(pool, receiver, { path: pathname, body });
  const taken = await loadRound(pool, receiver, { path: pathname, body });
  await pool.destroy();
  return taken;
}

async function loadRound(
  pool: Pool,
  receiver: Receiver,
  { path, body }: { readonly path: string; readonly body: string },
): Promise<Taken> {
  const headers = { 'content-type': 'application/json' };
  const { reached } = await receiver.expect(INVOICES);
  const cpu = process.cpuUsage();
  const start = performance.now();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, line) => {
      for (let sent = line; sent < INVOICES; sent += CONNECTIONS) {
        const answer = await pool.request({ method: 'POST', path, headers, body });
        await answer.body.dump();
      }
    }),
  );
  await reached;
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return { elapsedMs, cpuMs: Math.round((user + system) / 1_000) };
}

async function measureFile(): Promise<readonly string[]> {
  const sandbox = await serveSandbox();
  try {
    const [invoice] = (await sandbox.post('/trigger', {
      eventType: 'invoice_finalized',
      invoice: { shipments: LARGE_ROWS },
    })) as [{ readonly invoiceId: string; readonly exports: readonly { readonly sha256: string }[] }];
    const events = (await sandbox.get(`/events?invoiceId=${invoice.invoiceId}`)) as { body: string }[];
    const { payload } = JSON.parse(events[0]?.body ?? '') as { payload: { presignedUrl: string } };
    const start = performance.now();
    const { body } = await request(payload.presignedUrl, { dispatcher: sandbox.agent });
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of body) {
      hash.update(chunk as Buffer);
      bytes += (chunk as Buffer).length;
    }
    const seconds = (performance.now() - start) / 1_000;
    const peak = sandbox.peakMemory();
    say(`file             ${LARGE_ROWS} rows, ${mebibytes(bytes)} in ${seconds.toFixed(1)} s`);
    say(`memory           ${mebibytes(peak)} at most, from start to end; most ${mebibytes(MOST_MEMORY)}`);
    const complaints: string[] = [];
    if (hash.digest('hex') !== invoice.exports[0]?.sha256) complaints.push('the file is not as announced');
    if (!(peak < MOST_MEMORY)) complaints.push(`the process held ${mebibytes(peak)}`);
    return complaints;
  } finally {
    await sandbox.close();
  }
}

interface Receiver {
  readonly child: ChildProcess;
  readonly url: string;
  /** Starts counting anew; `reached` resolves when so many requests have been answered. */
  expect(count: number): Promise<{ readonly reached: Promise<unknown> }>;
}

async function startReceiver(): Promise<Receiver> {
  const child = fork(join(import.meta.dirname, 'support', 'instant-receiver.ts'), {
    execArgv: process.execArgv,
  });
  const [{ port }] = (await once(child, 'message')) as [ReceiverMessage & { readonly port: number }];
  return {
    child,
    url: `https://127.0.0.1:${port}/webhooks`,
    expect: async (count) => {
      child.send(count);
      await once(child, 'message');
      return { reached: once(child, 'message') };
    },
  };
}

/** Time and CPU of a thousand, best and median. */
function figures(taken: readonly Taken[]): string {
  const middle = median(taken.map(({ elapsedMs }) => elapsedMs));
  const cpu = taken.map(({ cpuMs }) => cpuMs);
  return (
    `${rate(best(taken))} at best, ${rate(middle)} median (${taken.map((one) => ms(one.elapsedMs)).join(', ')}); ` +
    `CPU of the sender ${ms(Math.min(...cpu))} at best, ${ms(median(cpu))} median`
  );
}

function rate(elapsedMs: number): string {
  return `${Math.round((INVOICES / elapsedMs) * 1_000)} requests/s`;
}

function best(taken: readonly Taken[]): number {
  return Math.min(...taken.map(({ elapsedMs }) => elapsedMs));
}

/** Of an odd number of values. */
function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function ms(time: number): string {
  return `${Math.round(time)} ms`;
}

function mebibytes(size: number): string {
  return `${Math.round(size / 1_048_576)} MiB`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
