/**
 * Thousands of connections that only hold room, opened again as soon as they are ended, from eight addresses; beside
 * them honest deliveries: from a sender that is known, from new addresses, from one of the attacker's own.
 * `npm run chaos -- hostile-sockets [sockets] [seconds]`.
 *
 * A real attacker has a machine of its own. This one shares the endpoint's cores and spends more on its side of every
 * handshake than the endpoint on the other, so it runs at a lower priority: what it computes must not count as time of the
 * endpoint. So that a starved attack proves nothing, it has to open at least `LEAST_OPENED_PER_SECOND` connections.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { aDelivery, basic } from '../webhook/a-delivery.js';
import { createEndpointProcess } from '../webhook/endpoint-process.js';

export interface HostileSocketsResult {
  /** How many connections the attacker opened, by kind. */
  readonly opened: Readonly<Record<string, number>>;
  readonly openedPerSecond: number;
  readonly honest: readonly HonestSender[];
}

export interface HonestSender {
  readonly name: string;
  readonly deliveries: number;
  /** Answered with anything but 200, or not at all. */
  readonly failures: number;
  /** Answered with 200 within a second. */
  readonly inTime: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

export const summary = 'honest deliveries beside 2,000 connections that only hold room';

const SOURCES = Array.from({ length: 8 }, (_, nth) => `127.0.0.${11 + nth}`);
const PAUSE_MS = 200;
const PROMISED_MS = 1_000;
const LEAST_OPENED_PER_SECOND = 300;

export async function main(args: readonly string[]): Promise<void> {
  const [sockets = 2_000, seconds = 120] = args.map(Number);
  const result = await runHostileSockets({ sockets, seconds });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  if (result.openedPerSecond < LEAST_OPENED_PER_SECOND) {
    throw new Error(`No proof: ${result.openedPerSecond} connections a second are no attack.`);
  }
  const broken = result.honest.filter(({ deliveries, inTime }) => inTime < deliveries);
  if (broken.length > 0) throw new Error(`Not served: ${broken.map(({ name }) => name).join(', ')}.`);
}

export async function runHostileSockets(options: {
  readonly sockets: number;
  readonly seconds: number;
}): Promise<HostileSocketsResult> {
  const folder = await mkdtemp(join(tmpdir(), 'hostile-'));
  const endpoint = await createEndpointProcess(join(folder, 'data'), 0);
  await endpoint.start();
  const url = endpoint.url() ?? '';
  // Known from before: a sender that delivered once.
  await deliverFrom('127.0.0.2', url);
  const program = fileURLToPath(new URL('../support/hostile/hostile-sockets.ts', import.meta.url));
  const attacker = spawn(
    process.execPath,
    ['--import', 'tsx', program, new URL(url).port, String(options.sockets), SOURCES.join(',')],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  setPriority(attacker.pid ?? Number.NaN, constants.priority.PRIORITY_BELOW_NORMAL);
  const attackedMs = performance.now();
  let said = '';
  attacker.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const ended = once(attacker, 'exit');
  // Until all of its connections are there.
  await sleep(3_000);
  const untilMs = Date.now() + options.seconds * 1_000;
  let fresh = 0;
  const honest = await Promise.all([
    send('a known sender', url, untilMs, () => '127.0.0.2'),
    send('a new address each time', url, untilMs, () => {
      fresh += 1;
      return `127.0.${1 + Math.floor(fresh / 250)}.${1 + (fresh % 250)}`;
    }),
    send("a sender behind the attacker's address", url, untilMs, () => SOURCES[0] ?? ''),
  ]);
  attacker.stdin.end();
  await ended;
  const attackedSeconds = (performance.now() - attackedMs) / 1_000;
  await endpoint.kill();
  await rm(folder, { recursive: true });
  const opened = JSON.parse(said) as Record<string, number>;
  const all = Object.values(opened).reduce((sum, count) => sum + count, 0);
  return { opened, openedPerSecond: Math.round(all / attackedSeconds), honest };
}

async function send(name: string, url: string, untilMs: number, source: () => string): Promise<HonestSender> {
  const tookMs: number[] = [];
  let [failures, inTime] = [0, 0];
  while (Date.now() < untilMs) {
    const startedMs = performance.now();
    const statusCode = await deliverFrom(source(), url).catch(() => 0);
    const ms = performance.now() - startedMs;
    tookMs.push(ms);
    if (statusCode !== 200) failures += 1;
    else if (ms <= PROMISED_MS) inTime += 1;
    await sleep(PAUSE_MS);
  }
  tookMs.sort((a, b) => a - b);
  const at = (share: number): number => Math.round(tookMs[Math.floor((tookMs.length - 1) * share)] ?? 0);
  return {
    name,
    deliveries: tookMs.length,
    failures,
    inTime,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    slowestMs: at(1),
  };
}

/** On a connection of its own, as a sender that comes for the first time. */
export async function deliverFrom(localAddress: string, url: string): Promise<number> {
  const agent = new Agent({ connect: { rejectUnauthorized: false, localAddress } });
  try {
    const reply = await request(url, {
      method: 'POST',
      headers: { authorization: basic() },
      body: aDelivery().body,
      dispatcher: agent,
      headersTimeout: 30_000,
    });
    await reply.body.dump();
    return reply.statusCode;
  } finally {
    await agent.destroy();
  }
}
