/**
 * Temporal is killed, then hangs, while deliveries go on: the endpoint answers 200 at its usual pace, the backlog grows, is
 * reported in /readyz, /metrics and doctor, and drains by itself. `npm run chaos -- temporal-away [seconds]`.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { findProcesses } from '../../lib/processes.ts';
import { settled } from '../support/billing-traffic.ts';
import type { Product } from '../support/processes/product.ts';
import {
  billedTruth,
  conclude,
  describeVerdict,
  newInvoice,
  type Rig,
  send,
  verdictOf,
  withRig,
} from './rig.ts';

interface Absence {
  readonly temporal: 'gone' | 'hung';
  readonly seconds: number;
  readonly deliveries: number;
  /** Answered with anything but 200, or not at all. */
  readonly failed: number;
  readonly acknowledgeP50Ms: number;
  readonly acknowledgeP99Ms: number;
  readonly largestBacklog: number;
  /** Statuses of `/readyz` of endpoint and worker at the end of the absence. */
  readonly readyz: { readonly webhook: number; readonly worker: number };
  readonly doctor: { readonly exitCode: number; readonly temporal: string; readonly inbox: string };
  readonly drainedAfterSeconds: number;
}

const DELIVER_EVERY_MS = 250;
const RECOVERED_WITHIN_MS = 120_000;

export const summary =
  'Temporal gone and hung while deliveries go on: always 200, the backlog is reported and drains [60]';

export async function main([seconds = '60']: readonly string[]): Promise<void> {
  const result = await withRig({}, async (rig) => {
    const { product } = rig;
    await Promise.all((['temporal', 'webhook', 'worker'] as const).map((role) => product.start(role)));
    const absences: Absence[] = [];
    for (const temporal of ['gone', 'hung'] as const) {
      absences.push(await playAbsence(rig, temporal, Number(seconds)));
    }
    await settled(product.dataDir, billedTruth(rig), RECOVERED_WITHIN_MS);
    for (const role of ['webhook', 'worker', 'temporal'] as const) await product.stop(role);
    return { absences, ...(await verdictOf(rig, billedTruth(rig))) };
  });
  conclude(result, [...result.absences.flatMap(brokenBy), ...describeVerdict(result)]);
}

async function playAbsence(rig: Rig, temporal: Absence['temporal'], seconds: number): Promise<Absence> {
  const { product } = rig;
  if (temporal === 'gone') {
    await product.kill('temporal');
    signalServer(product, 'SIGKILL');
  } else signalServer(product, 'SIGSTOP');

  const untilMs = Date.now() + seconds * 1_000;
  const latencies: number[] = [];
  let [failed, largestBacklog] = [0, 0];
  while (Date.now() < untilMs) {
    for (const text of (await newInvoice(rig, 5)).events) {
      const sentMs = performance.now();
      if ((await send(rig, text)) !== 200) failed += 1;
      latencies.push(performance.now() - sentMs);
    }
    largestBacklog = Math.max(largestBacklog, await backlog(product));
    await sleep(DELIVER_EVERY_MS);
  }
  const readyz = {
    webhook: await readyzOf(product.address('webhook', 'probes')),
    worker: await readyzOf(product.address('worker', 'dashboard')),
  };
  const doctor = await runDoctor(product);

  const backMs = Date.now();
  if (temporal === 'gone') await product.start('temporal');
  else signalServer(product, 'SIGCONT');
  while ((await backlog(product)) > 0 && Date.now() - backMs < RECOVERED_WITHIN_MS) await sleep(100);
  const drainedAfterSeconds = Math.round((Date.now() - backMs) / 100) / 10;
  const percentile = (share: number): number =>
    Math.round(latencies.sort((a, b) => a - b)[Math.floor(latencies.length * share)] ?? 0);
  return {
    ...{ temporal, seconds, deliveries: latencies.length, failed, largestBacklog, readyz, doctor },
    ...{ drainedAfterSeconds, acknowledgeP50Ms: percentile(0.5), acknowledgeP99Ms: percentile(0.99) },
  };
}

async function backlog(product: Product): Promise<number> {
  const { body } = await request(new URL('/metrics', product.address('webhook', 'probes') ?? ''));
  return Number(/^billsync_inbox_backlog\{[^}]*\} (\d+)$/m.exec(await body.text())?.[1] ?? Number.NaN);
}

async function readyzOf(address: string | null): Promise<number> {
  const { statusCode, body } = await request(new URL('/readyz', address ?? ''));
  await body.dump();
  return statusCode;
}

async function runDoctor(product: Product): Promise<Absence['doctor']> {
  const { code, out } = await product.command('doctor', '--json');
  const findings = JSON.parse(out) as { check: string; result: string; detail: string }[];
  const findingOf = (check: string): string => {
    const finding = findings.find((each) => each.check === check);
    return `${finding?.result}: ${finding?.detail}`;
  };
  return { exitCode: code, temporal: findingOf('temporal'), inbox: findingOf('inbox') };
}

function signalServer(product: Product, signal: NodeJS.Signals): void {
  for (const pid of findProcesses(product.temporalServer)) process.kill(pid, signal);
}

function brokenBy(absence: Absence): readonly string[] {
  const { temporal, failed, readyz, largestBacklog, doctor, drainedAfterSeconds } = absence;
  const isReady = readyz.webhook !== 503 || readyz.worker !== 503;
  const isDiagnosed = doctor.exitCode === 5 && /^failed/.test(doctor.temporal) && /^note/.test(doctor.inbox);
  return [
    ...(failed === 0 ? [] : [`${temporal}: ${failed} deliveries were not answered with 200`]),
    ...(isReady ? [`${temporal}: /readyz answered ${JSON.stringify(readyz)}`] : []),
    ...(largestBacklog > 0 ? [] : [`${temporal}: the backlog was not reported`]),
    ...(isDiagnosed ? [] : [`${temporal}: doctor reported ${JSON.stringify(doctor)}`]),
    ...(drainedAfterSeconds * 1_000 < RECOVERED_WITHIN_MS ? [] : [`${temporal}: the backlog did not drain`]),
  ];
}
