/**
 * Is the sandbox fast enough to rehearse against? A burst of finalized invoices has to reach an endpoint that answers
 * at once in no more than twice the time that the endpoint needs for a load generator, and a file of millions of
 * rows has to be served in little memory. Bursts and load take turns, and the best of each are compared: what else
 * runs on the machine can only make either slower.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { Pool, request } from 'undici';
import type { ReceiverMessage } from './support/instant-receiver.js';
import { type ServedSandbox, serveSandbox } from './support/served-sandbox.js';

export const summary = 'burst of deliveries against a load generator; memory of a file of 5 million rows';

const INVOICES = 1_000;
const ROWS = 500;
const TURNS = 6;
/** Rounds of load in each turn. */
const ROUNDS = 3;
const LEAST_SHARE = 0.5;
const LARGE_ROWS = 5_000_000;
const MOST_MEMORY = 200 * 1024 * 1024;
/** As many connections as the sandbox opens to one endpoint. */
const CONNECTIONS = 16;

/** @param args `burst` or `file` for one of them */
export async function main(args: readonly string[]): Promise<void> {
  const complaints: string[] = [];
  if (args[0] !== 'file') complaints.push(...(await measureBurst()));
  if (args[0] !== 'burst') complaints.push(...(await measureFile()));
  if (complaints.length > 0) throw new Error(complaints.join('; '));
}

async function measureBurst(): Promise<readonly string[]> {
  const receiver = await startReceiver();
  const sandbox = await serveSandbox();
  try {
    await sandbox.post('/registrations', { name: 'burst', url: receiver.url, active: true });
    const bursts: Taken[] = [];
    const loads: Taken[] = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      bursts.push(await burst(sandbox, receiver));
      const [event] = (await sandbox.get('/events?limit=1')) as [{ readonly body: string }];
      loads.push(...(await loadRounds(receiver, event.body)));
    }
    const bestLoad = best(loads, 'elapsedMs');
    const bestBurst = best(bursts, 'elapsedMs');
    const share = bestLoad / bestBurst;
    say(`load generator   ${rate(bestLoad)} at best (rounds of ${INVOICES}: ${list(loads)})`);
    say(
      `finalized burst  ${rate(bestBurst)} at best (bursts of ${INVOICES} x ${ROWS} rows: ${list(bursts)})`,
    );
    say(
      `CPU              ${best(bursts, 'cpuMs')} ms of the sandbox, ${best(loads, 'cpuMs')} ms of the generator`,
    );
    say(`share            ${share.toFixed(2)} of what the endpoint takes; least ${LEAST_SHARE}`);
    return share < LEAST_SHARE ? [`the burst reached ${share.toFixed(2)} of the load generator`] : [];
  } finally {
    await sandbox.close();
    receiver.child.kill();
  }
}

/** What a thousand requests took: on the clock, and of the CPU of the process that sent them. */
interface Taken {
  readonly elapsedMs: number;
  readonly cpuMs: number;
}

/** From the call that approves all to the last delivery's arrival. */
async function burst(sandbox: ServedSandbox, receiver: Receiver): Promise<Taken> {
  await sandbox.post('/trigger', {
    eventType: 'invoice_created',
    times: INVOICES,
    invoice: { shipments: ROWS },
  });
  await sandbox.post('/invoices/submit', {});
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

/** What the endpoint takes from a generator that does nothing but send. */
async function loadRounds(receiver: Receiver, body: string): Promise<readonly Taken[]> {
  const { origin, pathname } = new URL(receiver.url);
  const connect = { rejectUnauthorized: false };
  const pool = new Pool(origin, { connections: CONNECTIONS, pipelining: 1, connect });
  const headers = { 'content-type': 'application/json' };
  const rounds: Taken[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { reached } = await receiver.expect(INVOICES);
    const cpu = process.cpuUsage();
    const start = performance.now();
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, line) => {
        for (let sent = line; sent < INVOICES; sent += CONNECTIONS) {
          const answer = await pool.request({ method: 'POST', path: pathname, headers, body });
          await answer.body.dump();
        }
      }),
    );
    await reached;
    const elapsedMs = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    rounds.push({ elapsedMs, cpuMs: Math.round((user + system) / 1_000) });
  }
  await pool.destroy();
  return rounds;
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

function rate(elapsedMs: number): string {
  return `${Math.round((INVOICES / elapsedMs) * 1_000)} requests/s`;
}

function best(taken: readonly Taken[], what: keyof Taken): number {
  return Math.min(...taken.map((one) => one[what]));
}

function list(taken: readonly Taken[]): string {
  return taken.map(({ elapsedMs }) => `${Math.round(elapsedMs)} ms`).join(', ');
}

function mebibytes(size: number): string {
  return `${Math.round(size / 1_048_576)} MiB`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
