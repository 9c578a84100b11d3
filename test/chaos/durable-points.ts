/**
 * kill -9 right after each durable point of endpoint and forwarder (D1 to D5, which is right before the next one):
 * no acknowledged event is lost. `npm run chaos -- durable-points [rounds]` prints the result.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { aDelivery, deliver } from '../webhook/a-delivery.ts';
import { type Acknowledged, checkEndpoint, sentEvents } from '../webhook/check-endpoint.ts';
import { createEndpointProcess } from '../webhook/endpoint-process.ts';
import { conclude } from './rig.ts';

const POINTS = ['D1', 'D2', 'D3', 'D4', 'D5'] as const;

export async function runDurablePoints(rounds: number) {
  const dataDir = join(await mkdtemp(join(tmpdir(), 'points-')), 'data');
  const endpoint = await createEndpointProcess(dataDir);
  const acknowledged: Acknowledged[] = [];
  const answers: { point: string; first: string | null; retry: string | null }[] = [];
  await endpoint.start();
  for (let round = 0; round < rounds; round += 1) {
    for (const point of POINTS) {
      const { eventId, body } = aDelivery();
      await endpoint.arm(point);
      const send = (): Promise<string | null> =>
        deliver(endpoint.url() ?? '', body).then(
          (reply) => reply.body.status ?? null,
          () => null,
        );
      const first = await send();
      await endpoint.gone();
      await endpoint.start();
      // The service retries once without an answer.
      const retry = first === null ? await send() : null;
      answers.push({ point, first, retry });
      if ((first ?? retry) !== null) acknowledged.push({ eventId, kind: 'event' });
      await eventually(async () => (await sentEvents(dataDir)).includes(eventId));
    }
  }
  await eventually(async () => (await checkEndpoint(dataDir, acknowledged)).lost.length === 0).catch(
    () => undefined,
  );
  await endpoint.kill();
  const findings = await checkEndpoint(dataDir, acknowledged);
  if (findings.lost.length === 0) await rm(join(dataDir, '..'), { recursive: true });
  return { ...findings, rounds, answers };
}

export const summary = 'kill -9 right after each durable point of endpoint and forwarder [20]';

export async function main([rounds = '20']: readonly string[]): Promise<void> {
  const { answers, ...result } = await runDurablePoints(Number(rounds));
  const counts = new Map<string, number>();
  for (const { point, first, retry } of answers) {
    const key = `${point}: ${first ?? 'nothing'}, then ${retry ?? 'nothing'}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  conclude({ ...result, answers: Object.fromEntries(counts) }, [...result.lost, ...result.leaks]);
}
