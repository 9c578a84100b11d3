/**
 * Thousands of idle connections from eight addresses, opened again as soon as they are ended, beside honest deliveries: from a known
 * sender, from new addresses, and from an address of the attacker. As many deliveries go to a bare server that is not attacked; the
 * ratio of the times is the result. `npm run chaos -- hostile-sockets [sockets] [deliveries of each sender]`.
 *
 * A real attacker has a machine of its own. This one shares the endpoint's cores, so it runs at a lower priority, and each delivery
 * waits for `OPENED_BETWEEN` new connections, so that a slower attack takes longer and proves as much.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { expectKept, type Promised } from '../bench/support/rounds.ts';
import { aDelivery, basic } from '../webhook/a-delivery.ts';
import { createEndpointProcess } from '../webhook/endpoint-process.ts';

export type HostileSocketsResult = Awaited<ReturnType<typeof runHostileSockets>>;

export interface HonestSender {
  readonly name: string;
  readonly deliveries: number;
  /** Answered with anything but 200, or not at all. */
  readonly failures: number;
  readonly inTime: number;
  readonly answers: AnswerTimes;
}

export const summary = 'honest deliveries beside 2,000 idle connections [2000 500]';

const SOURCES = Array.from({ length: 8 }, (_, nth) => `127.0.0.${11 + nth}`);
const OPENED_BETWEEN = 240;
/** Multiples of the bare server's times; the slowest answer as a multiple of its p99. */
const PROMISED_RATIOS = { p50Ms: 4, p99Ms: 6, slowestMs: 9 };
/** Timeout of the sender (spec 8). */
const SENDER_TIMEOUT_MS = 30_000;

export async function main(args: readonly string[]): Promise<void> {
  const [sockets = 2_000, deliveries = 500] = args.map(Number);
  const result = await runHostileSockets({ sockets, deliveries });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = result.honest.filter(({ inTime }) => inTime < deliveries);
  if (broken.length > 0) throw new Error(`Not served in time: ${broken.map(({ name }) => name).join(', ')}.`);
  expectKept(promisesOf(result));
}

export function promisesOf({ honest, bareAnswers }: HostileSocketsResult): Promised[] {
  return honest.flatMap(({ name, answers }) =>
    (['p50Ms', 'p99Ms'] as const).map((of) => ({
      what: `${of} of ${name}, times that of a bare server`,
      found: answers[of] / bareAnswers[of],
      atMost: PROMISED_RATIOS[of],
    })),
  );
}

/** @param options.deliveries of each of three senders */
export async function runHostileSockets(options: { readonly sockets: number; readonly deliveries: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'hostile-'));
  const endpoint = await createEndpointProcess(join(folder, 'data'));
  const bare = await createEndpointProcess(join(folder, 'bare'), 'bare');
  await Promise.all([endpoint.start(), bare.start()]);
  const url = endpoint.url() ?? '';
  // A sender that delivered before is known.
  await deliverFrom('127.0.0.2', url);
  const attack = startAttack(new URL(url).port, options.sockets, SOURCES);
  const send = (name: string, source: () => string): Promise<Sent> =>
    deliverAll({ name, source, url, bareUrl: bare.url() ?? '', attack, deliveries: options.deliveries });
  let fresh = 0;
  // All of its connections are open, and as many were opened again.
  await attack.hasOpened(2 * options.sockets);
  const attackedMs = performance.now();
  const sent = await Promise.all([
    send('a known sender', () => '127.0.0.2'),
    send('a new address each time', () => {
      fresh += 1;
      return `127.0.${1 + Math.floor(fresh / 250)}.${1 + (fresh % 250)}`;
    }),
    send("a sender behind the attacker's address", () => SOURCES[0] ?? ''),
  ]);
  const attackedSeconds = (performance.now() - attackedMs) / 1_000;
  const opened = await attack.end();
  await Promise.all([endpoint.kill(), bare.kill()]);
  await rm(folder, { recursive: true });
  const bareAnswers = answerTimes(sent.flatMap(({ bareTookMs }) => bareTookMs));
  const promisedMs = Math.min(PROMISED_RATIOS.slowestMs * bareAnswers.p99Ms, SENDER_TIMEOUT_MS);
  return {
    opened,
    openedPerSecond: Math.round((totalOf(opened) - 2 * options.sockets) / attackedSeconds),
    honest: sent.map(({ name, tookMs, acceptedMs }) => ({
      name,
      deliveries: tookMs.length,
      failures: tookMs.length - acceptedMs.length,
      inTime: acceptedMs.filter((ms) => ms <= promisedMs).length,
      answers: answerTimes(tookMs),
    })),
    bareAnswers,
  };
}

interface Sent {
  readonly name: string;
  readonly tookMs: readonly number[];
  readonly acceptedMs: readonly number[];
  readonly bareTookMs: readonly number[];
}

async function deliverAll(options: {
  readonly name: string;
  readonly source: () => string;
  readonly url: string;
  readonly bareUrl: string;
  readonly attack: AttackInProgress;
  readonly deliveries: number;
}): Promise<Sent> {
  const tookMs: number[] = [];
  const bareTookMs: number[] = [];
  const acceptedMs: number[] = [];
  const before = options.attack.opened();
  for (let nth = 1; nth <= options.deliveries; nth += 1) {
    const source = options.source();
    const { statusCode, ms } = await timed(source, options.url);
    tookMs.push(ms);
    if (statusCode === 200) acceptedMs.push(ms);
    bareTookMs.push((await timed(source, options.bareUrl)).ms);
    await options.attack.hasOpened(before + nth * OPENED_BETWEEN);
  }
  return { name: options.name, tookMs, acceptedMs, bareTookMs };
}

async function timed(source: string, url: string): Promise<{ statusCode: number; ms: number }> {
  const startedMs = performance.now();
  const statusCode = await deliverFrom(source, url).catch(() => 0);
  return { statusCode, ms: performance.now() - startedMs };
}

/** On a new connection, as a new sender. */
export async function deliverFrom(localAddress: string, url: string): Promise<number> {
  // undici overwrites a local address among the options of `connect`.
  const agent = new Agent({ connect: { rejectUnauthorized: false }, localAddress });
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

type Opened = Readonly<Record<string, number>>;

type AttackInProgress = ReturnType<typeof startAttack>;

/** @param sources addresses that the connections come from, in turn */
function startAttack(port: string, sockets: number, sources: readonly string[]) {
  const program = fileURLToPath(new URL('../security/hostile/sockets.ts', import.meta.url));
  const attacker = spawn(process.execPath, [program, port, String(sockets), sources.join(',')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  setPriority(attacker.pid ?? Number.NaN, constants.priority.PRIORITY_BELOW_NORMAL);
  let latest: Opened = {};
  createInterface({ input: attacker.stdout }).on('line', (line) => {
    latest = JSON.parse(line) as Opened;
  });
  const ended = once(attacker, 'close');
  return {
    opened: () => totalOf(latest),
    async hasOpened(count: number) {
      while (totalOf(latest) < count) {
        if (attacker.exitCode !== null) throw new Error('The attacker ended.');
        await sleep(50);
      }
    },
    async end() {
      attacker.stdin.end();
      await ended;
      return latest;
    },
  };
}

function totalOf(opened: Opened): number {
  return Object.values(opened).reduce((sum, count) => sum + count, 0);
}

type AnswerTimes = ReturnType<typeof answerTimes>;

/** @param tookMs one figure an answer, in any order */
function answerTimes(tookMs: readonly number[]) {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
  return { p50Ms: at(0.5), p99Ms: at(0.99), slowestMs: at(1) };
}
