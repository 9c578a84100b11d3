/**
 * Deliveries under kill -9 of the endpoint, with a Temporal that is down half of the time: none that was acknowledged
 * may be lost. `npm run chaos -- endpoint-kills [deliveries] [kills] [seed]` prints the figures.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { aDelivery, deliver } from '../webhook/a-delivery.js';
import {
  type Acknowledged,
  checkEndpoint,
  type EndpointFindings,
  sentEvents,
} from '../webhook/check-endpoint.js';
import { createEndpointProcess, type EndpointProcess } from '../webhook/endpoint-process.js';

export interface EndpointKillsResult extends EndpointFindings {
  readonly acknowledged: number;
  readonly duplicates: number;
  /** The service gave up on these: not acknowledged within its attempts. */
  readonly unacknowledged: number;
  readonly kills: number;
  readonly acknowledgeP50Ms: number;
  readonly acknowledgeP99Ms: number;
  readonly seconds: number;
}

const SENDERS = 16;
/** More than the service's two, so that a run with many kills still delivers nearly everything. */
const ATTEMPTS = 6;
const TEMPORAL_PHASE_MS = 400;

export async function runEndpointKills(options: {
  readonly deliveries: number;
  readonly kills: number;
  readonly seed: number;
  readonly progress?: (text: string) => void;
}): Promise<EndpointKillsResult> {
  const dataDir = join(await mkdtemp(join(tmpdir(), 'chaos-')), 'data');
  const random = createRandom(options.seed);
  const startedMs = Date.now();
  const endpoint = await createEndpointProcess(dataDir, TEMPORAL_PHASE_MS);
  await endpoint.start();
  const acknowledged: Acknowledged[] = [];
  const latencies: number[] = [];
  let duplicates = 0;
  let unacknowledged = 0;
  let next = 0;
  let kills = 0;

  async function sender(): Promise<void> {
    while (next < options.deliveries) {
      next += 1;
      const { eventId, kind, body } = aRandomDelivery(random);
      // A tenth is sent twice at once, as two registrations for one event would.
      const copies = random() < 0.1 ? 2 : 1;
      const replies = await Promise.all(
        Array.from({ length: copies }, () => attempt(endpoint, body, (ms) => latencies.push(ms))),
      );
      duplicates += replies.filter((status) => status === 'duplicate').length;
      if (replies.some((status) => status !== null)) acknowledged.push({ eventId, kind });
      else unacknowledged += 1;
    }
  }

  async function killer(): Promise<void> {
    while (kills < options.kills && next < options.deliveries) {
      const due = (options.deliveries * (kills + random())) / options.kills;
      while (next < due && next < options.deliveries) await sleep(1);
      await sleep(random() * 20);
      await endpoint.kill();
      kills += 1;
      await endpoint.start();
      if (kills % 10 === 0) options.progress?.(`${kills} kills, ${acknowledged.length} acknowledged`);
    }
  }

  await Promise.all([killer(), ...Array.from({ length: SENDERS }, sender)]);
  await settled(dataDir, acknowledged);
  await endpoint.kill();
  const findings = await checkEndpoint(dataDir, acknowledged);
  if (findings.lost.length === 0) await rm(join(dataDir, '..'), { recursive: true });
  latencies.sort((a, b) => a - b);
  return {
    ...findings,
    acknowledged: acknowledged.length,
    duplicates,
    unacknowledged,
    kills,
    acknowledgeP50Ms: Math.round(latencies[Math.floor(latencies.length * 0.5)] ?? 0),
    acknowledgeP99Ms: Math.round(latencies[Math.floor(latencies.length * 0.99)] ?? 0),
    seconds: Math.round((Date.now() - startedMs) / 1_000),
  };
}

/** One delivery as the service makes it: an answer of the 2xx range, or another attempt. */
async function attempt(
  endpoint: EndpointProcess,
  body: string,
  acknowledgedIn: (ms: number) => void,
): Promise<string | null> {
  for (let tries = 0; tries < ATTEMPTS; tries += 1) {
    while (endpoint.url() === null) await sleep(5);
    const url = endpoint.url();
    if (url === null) continue;
    const sentMs = performance.now();
    try {
      const { statusCode, body: reply } = await deliver(url, body);
      if (statusCode >= 300) continue;
      acknowledgedIn(performance.now() - sentMs);
      return reply.status ?? '';
    } catch {
      // Refused or cut off: the endpoint was killed; the service would try again after a brief delay.
      await sleep(20);
    }
  }
  return null;
}

function aRandomDelivery(random: () => number): Acknowledged & { body: string } {
  const dice = random();
  if (dice < 0.05) return { kind: 'test', ...aDelivery({ metadata: { testEvent: true } }) };
  if (dice < 0.08) return { kind: 'refused', ...aDelivery({ metadata: { eventType: 'invoice_paid' } }) };
  return { kind: 'event', ...aDelivery() };
}

/** Until everything acknowledged was sent and the rest of the inbox is empty, or a minute is over. */
async function settled(dataDir: string, acknowledged: readonly Acknowledged[]): Promise<void> {
  const untilMs = Date.now() + 60_000;
  const events = acknowledged.filter(({ kind }) => kind === 'event').map(({ eventId }) => eventId);
  while (Date.now() < untilMs) {
    const sent = new Set(await sentEvents(dataDir));
    if (events.every((eventId) => sent.has(eventId))) break;
    await sleep(100);
  }
  // The last markers follow the last send.
  await sleep(1_500);
}

/** mulberry32: the same seed plays the same deliveries; when a kill falls into them is up to the machine. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const summary =
  'deliveries while the endpoint is killed and Temporal is down half of the time [2000 100 1]';

/** @throws Error something acknowledged was lost, leaked, wrongly sent, or answered too slowly */
export async function main([
  deliveries = '2000',
  kills = '100',
  seed = '1',
]: readonly string[]): Promise<void> {
  const result = await runEndpointKills({
    deliveries: Number(deliveries),
    kills: Number(kills),
    seed: Number(seed),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = result.lost.length + result.wronglySent.length + result.leaks.length;
  if (broken > 0) throw new Error(`${broken} promises were broken; see the figures above.`);
  if (result.acknowledgeP99Ms >= 250)
    throw new Error(`Answers took ${result.acknowledgeP99Ms} ms (p99), 250 ms is promised.`);
}
