/**
 * Temporal gone, then hung, while deliveries go on: the endpoint answers 200 at its usual pace, the backlog grows, is
 * told in /readyz, /metrics and doctor, and drains by itself. `npm run chaos -- temporal-away [seconds]`.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { findProcesses } from '../../lib/processes.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { settled } from '../support/foreign-story.ts';
import { checkInvariants, type Violation } from '../support/invariants.ts';
import { createProduct, type Product } from '../support/processes/product.ts';
import { deliver } from '../webhook/a-delivery.ts';

export interface Absence {
  readonly temporal: 'gone' | 'hung';
  readonly seconds: number;
  readonly deliveries: number;
  /** Answered with anything but 200, or not at all. */
  readonly failed: number;
  readonly acknowledgeP50Ms: number;
  readonly acknowledgeP99Ms: number;
  /** As `/metrics` told. */
  readonly largestBacklog: number;
  /** Statuses of `/readyz` of endpoint and worker at the end of the absence. */
  readonly readyz: { readonly webhook: number; readonly worker: number };
  readonly doctor: { readonly exitCode: number; readonly temporal: string; readonly inbox: string };
  /** From Temporal's return to an empty backlog. */
  readonly drainedAfterSeconds: number;
}

export interface TemporalAwayResult {
  readonly absences: readonly Absence[];
  readonly violations: readonly Violation[];
  readonly complaints: readonly string[];
}

const DELIVER_EVERY_MS = 250;
const RECOVERED_WITHIN_MS = 120_000;

export async function runTemporalAway(seconds: number): Promise<TemporalAwayResult> {
  const service = await startForeignService();
  const product = await createProduct({ service });
  const acknowledged: string[] = [];
  try {
    await Promise.all((['temporal', 'webhook', 'worker'] as const).map((role) => product.start(role)));
    const absences: Absence[] = [];
    for (const temporal of ['gone', 'hung'] as const) {
      absences.push(await playAbsence({ service, product, acknowledged, temporal, seconds }));
    }
    const truth = { billed: service.billedRows(), voided: [], acknowledged };
    await settled(product.dataDir, truth, RECOVERED_WITHIN_MS);
    for (const role of ['webhook', 'worker', 'temporal'] as const) await product.stop(role);
    const { dataDir, logFolder, password } = product;
    const secrets = [...service.secrets, password];
    const violations = await checkInvariants({ dataDir, logFolder, truth, secrets, client: null });
    return { absences, violations, complaints: [...service.complaints] };
  } finally {
    await product.close();
    await service.close();
  }
}

interface InvoiceUnderTest {
  readonly service: ForeignService;
  readonly product: Product;
  readonly acknowledged: string[];
  readonly temporal: Absence['temporal'];
  readonly seconds: number;
}

async function playAbsence(underTest: InvoiceUnderTest): Promise<Absence> {
  const { product, temporal, seconds } = underTest;
  if (temporal === 'gone') {
    await product.kill('temporal');
    signalServer(product, 'SIGKILL');
  } else signalServer(product, 'SIGSTOP');

  const untilMs = Date.now() + seconds * 1_000;
  const latencies: number[] = [];
  let [deliveries, failed, largestBacklog] = [0, 0, 0];
  while (Date.now() < untilMs) {
    for (const text of await anInvoice(underTest.service)) {
      deliveries += 1;
      const sentMs = performance.now();
      const reply = await deliver(product.webhookUrl, text).catch(() => null);
      latencies.push(performance.now() - sentMs);
      if (reply?.statusCode === 200) underTest.acknowledged.push(reply.body.eventId ?? '');
      else failed += 1;
    }
    largestBacklog = Math.max(largestBacklog, await backlog(product));
    await sleep(DELIVER_EVERY_MS);
  }
  const readyz = {
    webhook: await readyzOf(product.address('webhook', 'probes')),
    worker: await readyzOf(product.address('worker', 'dashboard')),
  };
  const doctor = await askDoctor(product);

  const backMs = Date.now();
  if (temporal === 'gone') await product.start('temporal');
  else signalServer(product, 'SIGCONT');
  while ((await backlog(product)) > 0 && Date.now() - backMs < RECOVERED_WITHIN_MS) await sleep(100);
  const drainedAfterSeconds = Math.round((Date.now() - backMs) / 100) / 10;
  const until = (share: number): number =>
    Math.round(latencies.sort((a, b) => a - b)[Math.floor(latencies.length * share)] ?? 0);
  return {
    ...{ temporal, seconds, deliveries, failed, largestBacklog, readyz, doctor, drainedAfterSeconds },
    ...{ acknowledgeP50Ms: until(0.5), acknowledgeP99Ms: until(0.99) },
  };
}

/** @returns the texts of its two events */
async function anInvoice(service: ForeignService): Promise<readonly string[]> {
  const from = service.events.length;
  const { invoiceId } = await service.createInvoice({ rows: 5 });
  await service.finalize(invoiceId);
  return service.events.slice(from);
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

async function askDoctor(product: Product): Promise<Absence['doctor']> {
  const { code, out } = await product.command('doctor', '--json');
  const findings = JSON.parse(out) as { check: string; result: string; detail: string }[];
  const of = (check: string): string => {
    const finding = findings.find((each) => each.check === check);
    return `${finding?.result}: ${finding?.detail}`;
  };
  return { exitCode: code, temporal: of('temporal'), inbox: of('inbox') };
}

function signalServer(product: Product, signal: NodeJS.Signals): void {
  for (const pid of findProcesses(product.temporalServer)) process.kill(pid, signal);
}

/** In words; empty when every promise was kept. */
export function brokenPromises({ absences, violations, complaints }: TemporalAwayResult): readonly string[] {
  return [
    ...absences.flatMap((absence) => {
      const { temporal, failed, readyz, largestBacklog, doctor, drainedAfterSeconds } = absence;
      const isTold = readyz.webhook === 503 && readyz.worker === 503;
      return [
        ...(failed === 0 ? [] : [`${temporal}: ${failed} deliveries were not answered with 200`]),
        ...(isTold ? [] : [`${temporal}: /readyz said ${JSON.stringify(readyz)}`]),
        ...(largestBacklog > 0 ? [] : [`${temporal}: the backlog was not told`]),
        ...(doctor.exitCode === 5 && /^failed/.test(doctor.temporal) && /^note/.test(doctor.inbox)
          ? []
          : [`${temporal}: doctor said ${JSON.stringify(doctor)}`]),
        ...(drainedAfterSeconds * 1_000 < RECOVERED_WITHIN_MS ? [] : [`${temporal}: the backlog stayed`]),
      ];
    }),
    ...violations.map(({ invariant, what }) => `${invariant}: ${what}`),
    ...complaints,
  ];
}

export const summary =
  'Temporal gone and hung while deliveries go on: 200 all the time, a backlog that tells and drains [60]';

/** @throws Error a promise was broken */
export async function main([seconds = '60']: readonly string[]): Promise<void> {
  const result = await runTemporalAway(Number(seconds));
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = brokenPromises(result);
  if (broken.length > 0)
    throw new Error(`${broken.length} promises were broken: ${broken.slice(0, 5).join('; ')}`);
}
