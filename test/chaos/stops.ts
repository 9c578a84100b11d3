/**
 * SIGTERM to each role with work under way, also while Temporal is down or hung and while the role still starts: it
 * drains, ends with 0 within a minute, and nothing that was acknowledged is lost. `npm run chaos -- stops [case…]`.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { findProcesses } from '../../lib/processes.ts';
import { type ForeignService, startForeignService } from '../support/foreign-service.ts';
import { createStory, settled } from '../support/foreign-story.ts';
import { checkInvariants, type Violation } from '../support/invariants.ts';
import { createProduct, type Product, type Role } from '../support/processes/product.ts';

export interface Stop {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly victim: Role;
  readonly temporal: 'serves' | 'is gone' | 'hangs';
  /** Asked to stop as soon as it has said a word, long before it is ready. */
  readonly isStarting?: boolean;
}

export interface Stopped {
  readonly name: string;
  readonly code: number | null;
  readonly seconds: number;
  readonly orphans: number;
}

export interface StopsResult {
  readonly stops: readonly Stopped[];
  readonly invoices: number;
  readonly violations: readonly Violation[];
  readonly complaints: readonly string[];
}

const APART: readonly Role[] = ['temporal', 'webhook', 'worker'];
const UP: readonly Role[] = ['up'];

export const STOPS: readonly Stop[] = [
  { name: 'worker', roles: APART, victim: 'worker', temporal: 'serves' },
  { name: 'webhook', roles: APART, victim: 'webhook', temporal: 'serves' },
  { name: 'worker, Temporal gone', roles: APART, victim: 'worker', temporal: 'is gone' },
  { name: 'webhook, Temporal gone', roles: APART, victim: 'webhook', temporal: 'is gone' },
  { name: 'worker, Temporal hangs', roles: APART, victim: 'worker', temporal: 'hangs' },
  { name: 'webhook, Temporal hangs', roles: APART, victim: 'webhook', temporal: 'hangs' },
  { name: 'temporal, its server hangs', roles: APART, victim: 'temporal', temporal: 'hangs' },
  { name: 'temporal', roles: APART, victim: 'temporal', temporal: 'serves' },
  { name: 'up', roles: UP, victim: 'up', temporal: 'serves' },
  { name: 'up, Temporal hangs', roles: UP, victim: 'up', temporal: 'hangs' },
  { name: 'up, starting', roles: UP, victim: 'up', temporal: 'serves', isStarting: true },
];

/** Interface: drains and exits 0; decided: within a minute. */
const STOPPED_WITHIN_SECONDS = 60;
const SETTLED_WITHIN_MS = 240_000;
const INVOICES_PER_STOP = 12;

/** One product for all cases of a set of roles: each goes on where the last one stopped. */
export async function runStops(
  stops: readonly Stop[],
  progress: (text: string) => void = () => {},
): Promise<readonly StopsResult[]> {
  const results: StopsResult[] = [];
  for (const roles of new Set(stops.map((stop) => stop.roles))) {
    const service = await startForeignService();
    const product = await createProduct({ service });
    try {
      results.push(
        await stopAll(
          { service, product, progress },
          stops.filter((stop) => stop.roles === roles),
        ),
      );
    } finally {
      await product.close();
      await service.close();
    }
  }
  return results;
}

interface InvoiceUnderTest {
  readonly service: ForeignService;
  readonly product: Product;
  readonly progress: (text: string) => void;
}

async function stopAll(
  { service, product, progress }: InvoiceUnderTest,
  stops: readonly Stop[],
): Promise<StopsResult> {
  const [{ roles } = { roles: [] }] = stops;
  const done: Stopped[] = [];
  const truth = { voided: [] as string[], acknowledged: [] as string[] };
  for (const [index, stop] of stops.entries()) {
    for (const role of roles) if (!product.isRunning(role)) await product.start(role);
    const story = createStory({
      ...{ service, webhookUrl: product.webhookUrl, invoices: INVOICES_PER_STOP, seed: index + 1 },
      ...{ dropFinalized: 0, rowsAtMost: 200 },
    });
    const telling = story.tell();
    await sleep(500);
    disturb(product, stop);
    const stopped = await stopOne(product, stop);
    done.push(stopped);
    progress(`${stop.name}: ended with ${stopped.code} after ${stopped.seconds} s`);
    for (const pid of serversOf(product)) if (stop.temporal === 'hangs') process.kill(pid, 'SIGCONT');
    for (const role of roles) if (!product.isRunning(role)) await product.start(role);
    await telling;
    truth.voided.push(...story.truth().voided);
    truth.acknowledged.push(...story.truth().acknowledged);
    await settled(product.dataDir, { ...truth, billed: service.billedRows() }, SETTLED_WITHIN_MS);
  }
  for (const role of [...roles].reverse()) await product.stop(role);
  const violations = await checkInvariants({
    ...{ dataDir: product.dataDir, logFolder: product.logFolder, client: null },
    truth: { ...truth, billed: service.billedRows() },
    secrets: [...service.secrets, product.password],
  });
  return {
    ...{ stops: done, violations, complaints: [...service.complaints] },
    invoices: done.length * INVOICES_PER_STOP,
  };
}

function disturb(product: Product, { temporal }: Stop): void {
  if (temporal === 'serves') return;
  if (temporal === 'is gone') product.signal('temporal', 'SIGKILL');
  for (const pid of serversOf(product)) process.kill(pid, temporal === 'hangs' ? 'SIGSTOP' : 'SIGKILL');
}

async function stopOne(product: Product, stop: Stop): Promise<Stopped> {
  if (stop.isStarting === true) {
    await product.kill(stop.victim);
    const { length } = product.log(stop.victim);
    product.start(stop.victim).catch(() => undefined); // It does not get ready: that is the case.
    // Children of the one that was killed end a little later, and write to the same log.
    while (!product.log(stop.victim).slice(length).includes(`"role":"${stop.victim}"`)) await sleep(10);
  } else {
    // A call or two is under way by then.
    await sleep(stop.temporal === 'serves' ? 300 : 4_000);
  }
  const { code, seconds } = await product.stop(stop.victim);
  const shouldHaveNoServer = stop.victim === 'up' || stop.victim === 'temporal';
  const orphans = shouldHaveNoServer ? serversOf(product).length : 0;
  return { name: stop.name, code, seconds: Math.round(seconds * 10) / 10, orphans };
}

function serversOf({ temporalServer }: Product): readonly number[] {
  return findProcesses(temporalServer);
}

/** In words; empty when every promise was kept. */
export function brokenPromises(results: readonly StopsResult[]): readonly string[] {
  return results.flatMap(({ stops, violations, complaints }) => [
    ...stops.flatMap(({ name, code, seconds, orphans }) => [
      ...(code === 0 ? [] : [`${name}: ended with ${code}`]),
      ...(seconds <= STOPPED_WITHIN_SECONDS ? [] : [`${name}: took ${seconds} s`]),
      ...(orphans === 0 ? [] : [`${name}: left ${orphans} processes`]),
    ]),
    ...violations.map(({ invariant, what }) => `${invariant}: ${what}`),
    ...complaints,
  ]);
}

export const summary = 'SIGTERM to each role amid work, also with Temporal gone or hung [case…]';

/** @throws Error a promise was broken */
export async function main(names: readonly string[]): Promise<void> {
  const stops = names.length === 0 ? STOPS : STOPS.filter(({ name }) => names.includes(name));
  const results = await runStops(stops, (text) => process.stderr.write(`${text}\n`));
  process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  const broken = brokenPromises(results);
  if (broken.length > 0)
    throw new Error(`${broken.length} promises were broken: ${broken.slice(0, 5).join('; ')}`);
}
