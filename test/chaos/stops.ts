/**
 * SIGTERM and kill -9 of each role during work, also while Temporal is down or hung and while the role still starts: after SIGTERM the
 * role drains and ends with 0 within a minute, and no acknowledged event is lost. `npm run chaos -- stops [case…]`.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { findProcesses } from '../../lib/processes.ts';
import { createTraffic, settled } from '../support/billing-traffic.ts';
import type { Product, Role } from '../support/processes/product.ts';
import {
  conclude,
  describeVerdict,
  printProgress,
  type Rig,
  SETTLED_WITHIN_MS,
  verdictOf,
  withRig,
} from './rig.ts';

interface Stop {
  readonly name: string;
  readonly roles: readonly Role[];
  readonly victim: Role;
  readonly temporal: 'serves' | 'is gone' | 'hangs';
  /** The signal is sent as soon as the role logs, long before it is ready. */
  readonly isStarting?: boolean;
  /** kill -9 instead of SIGTERM. */
  readonly isKilled?: boolean;
}

type Stopped = Awaited<ReturnType<typeof stopOne>>;

type StopsResult = Awaited<ReturnType<typeof stopAll>>;

const APART: readonly Role[] = ['temporal', 'webhook', 'worker'];
const UP: readonly Role[] = ['up'];

const STOPS: readonly Stop[] = [
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
  { name: 'worker killed', roles: APART, victim: 'worker', temporal: 'serves', isKilled: true },
  { name: 'webhook killed', roles: APART, victim: 'webhook', temporal: 'serves', isKilled: true },
  {
    name: 'temporal killed, its server survives',
    roles: APART,
    victim: 'temporal',
    temporal: 'serves',
    isKilled: true,
  },
  {
    name: 'worker killed, Temporal too',
    roles: APART,
    victim: 'worker',
    temporal: 'is gone',
    isKilled: true,
  },
  {
    name: 'webhook killed, Temporal too',
    roles: APART,
    victim: 'webhook',
    temporal: 'is gone',
    isKilled: true,
  },
  {
    name: 'worker killed, starting',
    roles: APART,
    victim: 'worker',
    temporal: 'serves',
    isStarting: true,
    isKilled: true,
  },
  {
    name: 'webhook killed, starting',
    roles: APART,
    victim: 'webhook',
    temporal: 'serves',
    isStarting: true,
    isKilled: true,
  },
  { name: 'up killed, its server survives', roles: UP, victim: 'up', temporal: 'serves', isKilled: true },
  { name: 'up killed, its server too', roles: UP, victim: 'up', temporal: 'is gone', isKilled: true },
  {
    name: 'up killed, starting',
    roles: UP,
    victim: 'up',
    temporal: 'serves',
    isStarting: true,
    isKilled: true,
  },
];

const STOPPED_WITHIN_SECONDS = 60;
const INVOICES_PER_STOP = 12;

export const summary =
  'SIGTERM and kill -9 of each role during work, also with Temporal gone or hung [case…]';

export async function main(names: readonly string[]): Promise<void> {
  const selected = names.length === 0 ? STOPS : STOPS.filter(({ name }) => names.includes(name));
  const results: StopsResult[] = [];
  // One product for all cases of a set of roles: each continues where the last one stopped.
  for (const roles of new Set(selected.map((stop) => stop.roles))) {
    const stops = selected.filter((stop) => stop.roles === roles);
    results.push(await withRig({}, (rig) => stopAll(rig, roles, stops)));
  }
  conclude(
    results,
    results.flatMap((result) => [...result.stops.flatMap(brokenBy), ...describeVerdict(result)]),
  );
}

async function stopAll(rig: Rig, roles: readonly Role[], stops: readonly Stop[]) {
  const { service, product } = rig;
  const done: Stopped[] = [];
  const voided: string[] = [];
  const acknowledged: string[] = [];
  const truth = () => ({ voided, acknowledged, billed: service.billedRows() });
  const startMissing = async () => {
    for (const role of roles) if (!product.isRunning(role)) await product.start(role);
  };
  for (const [index, stop] of stops.entries()) {
    await startMissing();
    const traffic = createTraffic({
      ...{ service, webhookUrl: product.webhookUrl, invoices: INVOICES_PER_STOP, seed: index + 1 },
      ...{ dropFinalized: 0, maxRows: 200 },
    });
    const sending = traffic.run();
    await sleep(500);
    disturb(product, stop);
    const stopped = await stopOne(product, stop);
    done.push(stopped);
    printProgress(`${stop.name}: ended with ${stopped.code} after ${stopped.seconds} s`);
    for (const pid of serversOf(product)) if (stop.temporal === 'hangs') process.kill(pid, 'SIGCONT');
    await startMissing();
    await sending;
    voided.push(...traffic.truth().voided);
    acknowledged.push(...traffic.truth().acknowledged);
    await settled(product.dataDir, truth(), SETTLED_WITHIN_MS);
  }
  for (const role of [...roles].reverse()) await product.stop(role);
  return {
    ...(await verdictOf(rig, truth())),
    stops: done,
    invoices: done.length * INVOICES_PER_STOP,
  };
}

function disturb(product: Product, { temporal }: Stop): void {
  if (temporal === 'serves') return;
  if (temporal === 'is gone') product.signal('temporal', 'SIGKILL');
  for (const pid of serversOf(product)) process.kill(pid, temporal === 'hangs' ? 'SIGSTOP' : 'SIGKILL');
}

async function stopOne(product: Product, stop: Stop) {
  if (stop.isStarting === true) {
    await product.kill(stop.victim);
    const { length } = product.log(stop.victim);
    // It never becomes ready in this case.
    product.start(stop.victim).catch(() => undefined);
    // Children of the killed role end a little later, and write to the same log.
    while (!product.log(stop.victim).slice(length).includes(`"role":"${stop.victim}"`)) await sleep(10);
  } else {
    // One or two calls are in progress by then.
    await sleep(stop.temporal === 'serves' ? 300 : 4_000);
  }
  if (stop.isKilled === true) {
    await product.kill(stop.victim);
    return { name: stop.name, code: 0, seconds: 0, orphans: 0 };
  }
  const { code, seconds } = await product.stop(stop.victim);
  const shouldHaveNoServer = stop.victim === 'up' || stop.victim === 'temporal';
  const orphans = shouldHaveNoServer ? serversOf(product).length : 0;
  return { name: stop.name, code, seconds: Math.round(seconds * 10) / 10, orphans };
}

function serversOf({ temporalServer }: Product): readonly number[] {
  return findProcesses(temporalServer);
}

function brokenBy({ name, code, seconds, orphans }: Stopped): readonly string[] {
  return [
    ...(code === 0 ? [] : [`${name}: ended with ${code}`]),
    ...(seconds <= STOPPED_WITHIN_SECONDS ? [] : [`${name}: took ${seconds} s`]),
    ...(orphans === 0 ? [] : [`${name}: left ${orphans} processes`]),
  ];
}
