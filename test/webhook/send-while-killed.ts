import { setTimeout as sleep } from 'node:timers/promises';
import { aDelivery, deliver } from './a-delivery.ts';
import { answerTimes } from './answer-times.ts';
import type { Acknowledged } from './check-endpoint.ts';
import type { EndpointProcess } from './endpoint-process.ts';

export interface Sent {
  readonly acknowledged: readonly Acknowledged[];
  readonly duplicates: number;
  readonly unacknowledged: number;
  readonly kills: number;
  readonly tookMs: readonly number[];
}

const SENDERS = 16;
/** More than the service's two, so that a run with many kills still delivers nearly everything. */
const ATTEMPTS = 6;

/** Sixteen senders, and a killer who spreads its kills over their deliveries. */
export async function sendWhileKilled(options: {
  readonly endpoint: EndpointProcess;
  readonly deliveries: number;
  readonly kills: number;
  readonly random: () => number;
}): Promise<Sent> {
  const { endpoint, random } = options;
  const acknowledged: Acknowledged[] = [];
  const tookMs: number[] = [];
  let [duplicates, unacknowledged, next, kills] = [0, 0, 0, 0];

  async function sender(): Promise<void> {
    while (next < options.deliveries) {
      next += 1;
      const { eventId, kind, body } = aRandomDelivery(random);
      // A tenth is sent twice at once, as two registrations for one event would.
      const copies = random() < 0.1 ? 2 : 1;
      const replies = await Promise.all(
        Array.from({ length: copies }, () => attempt(endpoint, body, (ms) => tookMs.push(ms))),
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
    }
  }

  if (endpoint.url() === null) await endpoint.start();
  await Promise.all([killer(), ...Array.from({ length: SENDERS }, sender)]);
  return { acknowledged, duplicates, unacknowledged, kills, tookMs };
}

export function timesOf(rounds: readonly Sent[]) {
  const times = rounds.map(({ tookMs }) => answerTimes(tookMs));
  return {
    p50Ms: times.map(({ p50Ms }) => p50Ms),
    p99Ms: times.map(({ p99Ms }) => p99Ms),
    slowestMs: Math.max(...times.map(({ slowestMs }) => slowestMs)),
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
  const draw = random();
  if (draw < 0.05) return { kind: 'test', ...aDelivery({ metadata: { testEvent: true } }) };
  if (draw < 0.08) return { kind: 'refused', ...aDelivery({ metadata: { eventType: 'invoice_paid' } }) };
  return { kind: 'event', ...aDelivery() };
}
