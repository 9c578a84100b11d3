/**
 * Endpoint, worker and Temporal as separate processes (or `up`, all in one), killed -9 at random and started again
 * at once on the same ports and files, while a foreign service delivers. Afterwards the reports equal the service's rows to the
 * fourth decimal. `npm run chaos -- processes [invoices] [kills] [seed] [up]` prints the result.
 */

import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProcesses } from '../../lib/processes.ts';
import { createTraffic, settled, type TrafficCounts } from '../support/billing-traffic.ts';
import type { ForeignRow } from '../support/foreign-billing.ts';
import { letWorkflowTasksEnd, type Truth } from '../support/invariants.ts';
import { freePort } from '../support/processes/free-port.ts';
import type { Product, Role } from '../support/processes/product.ts';
import { addTo, differences, exact, type Sum } from '../support/published-data.ts';
import { createRandom } from '../support/random.ts';
import { withTemporalBeside } from '../support/temporal.ts';
import {
  conclude,
  describeVerdict,
  printProgress,
  type Rig,
  SETTLED_WITHIN_MS,
  type Verdict,
  verdictOf,
  withRig,
} from './rig.ts';

interface ProcessesResult extends TrafficCounts, Verdict {
  readonly kills: Readonly<Record<string, number>>;
  readonly contradictions: readonly string[];
  readonly openToOthers: readonly string[];
  readonly orphans: readonly number[];
  /** From the last event or kill until every invoice was settled. */
  readonly secondsToSettle: number;
  readonly seconds: number;
  readonly exitCodes: readonly (number | null)[];
}

export const summary =
  'endpoint, worker and Temporal killed at random while a foreign service delivers [60 30 1 | … up]';

export async function main([invoices = '60', kills = '30', seed = '1', how = 'apart']: readonly string[]) {
  const options = {
    invoices: Number(invoices),
    kills: Number(kills),
    seed: Number(seed),
    isUp: how === 'up',
  };
  const result = await runProcesses(options);
  conclude(result, brokenPromises(result));
}

async function runProcesses(options: {
  readonly invoices: number;
  readonly kills: number;
  readonly seed: number;
  readonly isUp: boolean;
}): Promise<ProcessesResult> {
  const { invoices, kills, seed, isUp } = options;
  const roles: readonly Role[] = isUp ? ['up'] : ['temporal', 'webhook', 'worker'];
  const beganMs = Date.now();
  const settings = {
    BILLSYNC_OVERDUE_AFTER: '2s,4s,8s',
    // With every other seed each file needs a new URL, as without a setting for the host of the storage.
    ...(seed % 2 === 0 ? { BILLSYNC_DOWNLOAD_HOSTS: '' } : {}),
    ...(isUp ? {} : { TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }),
  };
  return withRig({ seed, settings }, async (rig) => {
    const { service, product } = rig;
    // All at once, on a folder that does not exist yet.
    await Promise.all(roles.map((role) => product.start(role)));
    let kill = 0;
    const traffic = createTraffic({
      ...{ service, webhookUrl: product.webhookUrl, invoices, seed, pauseMs: 200 },
      allowedShare: () => kill / kills,
    });
    const [, kinds] = await Promise.all([
      traffic.run(),
      killAndRestart({
        ...{ product, roles, kills, random: createRandom(seed + 1).next },
        progress(text, nth) {
          kill = nth;
          printProgress(text);
        },
      }),
    ]);
    printProgress(`sent: ${JSON.stringify(traffic.counts())}`);
    const sentMs = Date.now();
    await settled(product.dataDir, traffic.truth(), SETTLED_WITHIN_MS);
    const secondsToSettle = Math.round((Date.now() - sentMs) / 1_000);
    const contradictions = [
      ...(await compareReports(product, service.billedRows())),
      ...(await requestVerify(product)),
    ];
    const stopped = await stopAndInspect(rig, roles, traffic.truth());
    return {
      ...traffic.counts(),
      ...{ kills: kinds, contradictions, secondsToSettle, ...stopped },
      openToOthers: await openToOthers(product.dataDir),
      seconds: Math.round((Date.now() - beganMs) / 1_000),
    };
  });
}

function brokenPromises(result: ProcessesResult): readonly string[] {
  return [
    ...describeVerdict(result),
    ...result.contradictions,
    ...result.openToOthers,
    ...result.orphans.map((pid) => `process ${pid} was left behind`),
    ...result.exitCodes.filter((code) => code !== 0).map((code) => `a role ended with ${code}`),
  ];
}

/** @returns empty when `verify` finds nothing */
export async function requestVerify(product: Product): Promise<readonly string[]> {
  const { code, out, err } = await product.command('verify', '--json');
  return code === 0 ? [] : [`verify ended with ${code}: ${out}${err}`];
}

/** Stops the roles, Temporal last: it is needed for the inspection. */
async function stopAndInspect(
  rig: Rig,
  roles: readonly Role[],
  truth: Truth,
): Promise<Verdict & Pick<ProcessesResult, 'exitCodes' | 'orphans'>> {
  const { product } = rig;
  const exitCodes: (number | null)[] = [];
  const isApart = roles.includes('temporal');
  if (isApart) await withTemporalBeside(product.dataDir, letWorkflowTasksEnd);
  for (const role of roles) if (role !== 'temporal') exitCodes.push((await product.stop(role)).code);
  const verdict = isApart
    ? await withTemporalBeside(product.dataDir, (client) => verdictOf(rig, truth, client))
    : await verdictOf(rig, truth);
  if (isApart) exitCodes.push((await product.stop('temporal')).code);
  return { ...verdict, exitCodes, orphans: findProcesses(product.temporalServer) };
}

const KEYS = { tenants: 'tenant', carriers: 'carrier', zones: 'carrier_zone' } as const;

/** @returns the differences; empty when the three reports add up to the rows */
export async function compareReports(
  product: Product,
  rows: readonly ForeignRow[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [report, key] of Object.entries(KEYS)) {
    const expected = new Map<string, Sum>();
    for (const row of rows) {
      const value = key === 'carrier_zone' ? row.zone : row[key];
      addTo(expected, `${value} ${row.currencyCode}`, row.billingCost);
    }
    const reported = await jsonOf(product, 'report', report, '--level', 'all', '--format', 'json');
    const sums = new Map(
      reported.map((row): [string, Sum] => [
        `${row[key] ?? ''} ${row.currency_code}`,
        { rows: Number(row.shipments), tenThousandths: exact(String(row.billing_cost)) },
      ]),
    );
    found.push(...differences(expected, sums).map((what) => `report ${report}: ${what}`));
  }
  return found;
}

async function jsonOf(
  product: Product,
  ...args: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { code, out, err } = await product.command(...args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`);
  return JSON.parse(out) as Readonly<Record<string, unknown>>[];
}

/** @returns relative paths with their modes; `.` is the folder itself */
async function openToOthers(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = [folder, ...entries.map((entry) => join(entry.parentPath, entry.name))];
  const found = await Promise.all(
    paths.map(async (path) => {
      const mode = ((await stat(path).catch(() => null))?.mode ?? 0) & 0o777;
      return (mode & 0o077) === 0 ? [] : [`${relative(folder, path) || '.'} is ${mode.toString(8)}`];
    }),
  );
  return found.flat();
}

/** The Temporal server is a child of its role, and can be killed alone, with it, or survive it. */
type Victim = Role | 'temporal-server';

interface Kill {
  readonly name: string;
  readonly victims: readonly Victim[];
  readonly weight: number;
}

interface KillOptions {
  readonly product: Product;
  /** `['up']` or the three roles. */
  readonly roles: readonly Role[];
  readonly kills: number;
  readonly random: () => number;
  readonly progress?: (text: string, nth: number) => void;
}

/** @returns how often each kind of kill was done, by its name */
async function killAndRestart(options: KillOptions): Promise<Readonly<Record<string, number>>> {
  const { product, random, kills, progress } = options;
  const choices = options.roles.includes('up') ? AGAINST_UP : AGAINST_ROLES;
  const done: Record<string, number> = {};
  const count = (name: string): void => {
    done[name] = (done[name] ?? 0) + 1;
  };
  for (let nth = 1; nth <= kills; nth += 1) {
    await sleep(random() * 1_000);
    const kill = choose(choices, random());
    count(kill.name);
    progress?.(`${nth} of ${kills}: ${kill.name}`, nth);
    if (random() < 0.15) {
      count('frozen before');
      freeze(product, kill.victims);
      await sleep(random() * 3_000);
    }
    await killAll(product, kill.victims);
    const roles = kill.victims.filter((victim) => victim !== 'temporal-server');
    if (random() < 0.25 && roles.length > 0) {
      count('killed again while starting');
      const starting = roles.map((role) => product.start(role).catch(() => undefined));
      await sleep(random() * 3_000);
      await killAll(product, kill.victims);
      await Promise.all(starting);
    }
    await Promise.all(roles.map((role) => product.start(role)));
  }
  return done;
}

const AGAINST_ROLES: readonly Kill[] = [
  { name: 'worker', victims: ['worker'], weight: 30 },
  { name: 'webhook', victims: ['webhook'], weight: 20 },
  { name: 'temporal, its server survives', victims: ['temporal'], weight: 12 },
  { name: 'temporal-server alone', victims: ['temporal-server'], weight: 12 },
  { name: 'temporal and its server', victims: ['temporal', 'temporal-server'], weight: 12 },
  { name: 'all at once', victims: ['worker', 'webhook', 'temporal', 'temporal-server'], weight: 14 },
];

const AGAINST_UP: readonly Kill[] = [
  { name: 'up, its server survives', victims: ['up'], weight: 50 },
  { name: 'temporal-server alone', victims: ['temporal-server'], weight: 20 },
  { name: 'up and its server', victims: ['up', 'temporal-server'], weight: 30 },
];

function choose(kills: readonly Kill[], random: number): Kill {
  let left = random * kills.reduce((sum, { weight }) => sum + weight, 0);
  const [first, ...others] = kills;
  if (first === undefined) throw new RangeError('There is nothing to choose from.');
  let chosen = first;
  for (const kill of others) {
    left -= chosen.weight;
    if (left < 0) break;
    chosen = kill;
  }
  return chosen;
}

function freeze(product: Product, victims: readonly Victim[]): void {
  for (const victim of victims) {
    if (victim === 'temporal-server') signalServer(product, 'SIGSTOP');
    else product.signal(victim, 'SIGSTOP');
  }
}

async function killAll(product: Product, victims: readonly Victim[]): Promise<void> {
  if (victims.includes('temporal-server')) signalServer(product, 'SIGKILL');
  await Promise.all(
    victims.map((victim) => (victim === 'temporal-server' ? undefined : product.kill(victim))),
  );
}

function signalServer(product: Product, signal: NodeJS.Signals): void {
  const pid = product.temporalPid();
  if (pid === null) return;
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already and is not restarted yet.
  }
}
