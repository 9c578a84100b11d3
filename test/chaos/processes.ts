/**
 * Endpoint, worker and Temporal as processes of their own (or `up`, all in one), killed -9 at random and started again
 * at once on the same ports and files, while a foreign service delivers. Afterwards reports and books agree to the
 * fourth decimal. `npm run chaos -- processes [invoices] [kills] [seed] [up]` prints the figures.
 */

import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProcesses } from '../../lib/processes.ts';
import type { ForeignRow } from '../support/foreign-billing.ts';
import { startForeignService } from '../support/foreign-service.ts';
import { createRandom, createStory, type StoryFigures, settled } from '../support/foreign-story.ts';
import { checkInvariants, letWorkflowTasksEnd, type Violation } from '../support/invariants.ts';
import { freePort } from '../support/processes/free-port.ts';
import { createProduct, type Product, type Role } from '../support/processes/product.ts';
import { addTo, differences, exact, type Sum } from '../support/published-data.ts';
import { withTemporalBeside } from '../support/temporal.ts';

export interface ProcessesOptions {
  readonly invoices: number;
  readonly kills: number;
  readonly seed: number;
  /** Everything in one process, instead of three. */
  readonly isUp?: boolean;
  readonly progress?: (text: string) => void;
}

export interface ProcessesResult extends StoryFigures {
  readonly kills: Readonly<Record<string, number>>;
  readonly violations: readonly Violation[];
  readonly contradictions: readonly string[];
  readonly complaints: readonly string[];
  readonly openToOthers: readonly string[];
  /** Processes of ours that a SIGTERM left behind. */
  readonly orphans: readonly number[];
  /** From the last event or kill to everything being where it belongs. */
  readonly secondsToSettle: number;
  readonly seconds: number;
  readonly exitCodes: readonly (number | null)[];
}

/** Above the minute after which a delivery that failed while Temporal was away is tried again. */
const SETTLED_WITHIN_MS = 240_000;

export async function runProcesses(options: ProcessesOptions): Promise<ProcessesResult> {
  const { invoices, kills, seed, isUp = false, progress } = options;
  const roles: readonly Role[] = isUp ? ['up'] : ['temporal', 'webhook', 'worker'];
  const beganMs = Date.now();
  const service = await startForeignService({ seed });
  const product = await createProduct({
    service,
    settings: {
      BILLSYNC_OVERDUE_AFTER: '2s,4s,8s',
      // Every other story leads each file over a new URL, as for somebody who never named the storage's host.
      ...(seed % 2 === 0 ? { BILLSYNC_DOWNLOAD_HOSTS: '' } : {}),
      ...(isUp ? {} : { TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` }),
    },
  });
  let isSound = false;
  try {
    // All at once, on a folder that does not exist yet.
    await Promise.all(roles.map((role) => product.start(role)));
    let kill = 0;
    const story = createStory({
      ...{ service, webhookUrl: product.webhookUrl, invoices, seed, pauseMs: 200 },
      partAllowed: () => kill / kills,
    });
    const [, kinds] = await Promise.all([
      story.tell(),
      killAndRestart({
        ...{ product, roles, kills, random: createRandom(seed + 1) },
        progress(text, nth) {
          kill = nth;
          progress?.(text);
        },
      }),
    ]);
    progress?.(`told: ${JSON.stringify(story.figures())}`);
    const toldMs = Date.now();
    await settled(product.dataDir, story.truth(), SETTLED_WITHIN_MS);
    const secondsToSettle = Math.round((Date.now() - toldMs) / 1_000);
    const contradictions = [
      ...(await compareReports(product, service.billedRows())),
      ...(await requestVerify(product)),
    ];
    const secrets = [...service.secrets, product.password];
    const inspected = await endAndInspect(product, roles, (inspect) =>
      checkInvariants({ ...inspect, truth: story.truth(), secrets }),
    );
    const result = {
      ...story.figures(),
      ...{ kills: kinds, contradictions, complaints: [...service.complaints], secondsToSettle, ...inspected },
      openToOthers: await openToOthers(product.dataDir),
      seconds: Math.round((Date.now() - beganMs) / 1_000),
    };
    isSound = brokenPromises(result).length === 0;
    return result;
  } finally {
    if (!isSound) process.stderr.write(`Kept for a look: ${product.dataDir}\n`);
    await product.close({ keep: !isSound });
    await service.close();
  }
}

/** In words; empty when every promise was kept. */
export function brokenPromises(result: ProcessesResult): readonly string[] {
  return [
    ...result.violations.map(({ invariant, what }) => `${invariant}: ${what}`),
    ...result.contradictions,
    ...result.complaints,
    ...result.openToOthers,
    ...result.orphans.map((pid) => `process ${pid} was left behind`),
    ...result.exitCodes.filter((code) => code !== 0).map((code) => `a role ended with ${code}`),
  ];
}

/** @returns empty when `verify --full` finds nothing */
export async function requestVerify(product: Product): Promise<readonly string[]> {
  const { code, out, err } = await product.command('verify', '--full', '--json');
  return code === 0 ? [] : [`verify ended with ${code}: ${out}${err}`];
}

type Inspect = Pick<Parameters<typeof checkInvariants>[0], 'dataDir' | 'logFolder' | 'client'>;

/** The worker goes first, then the rest is looked at while Temporal still answers; Temporal goes last. */
async function endAndInspect(
  product: Product,
  roles: readonly Role[],
  inspect: (what: Inspect) => Promise<readonly Violation[]>,
): Promise<Pick<ProcessesResult, 'violations' | 'exitCodes' | 'orphans'>> {
  const exitCodes: (number | null)[] = [];
  const isApart = roles.includes('temporal');
  if (isApart) await withTemporalBeside(product.dataDir, letWorkflowTasksEnd);
  for (const role of roles) if (role !== 'temporal') exitCodes.push((await product.stop(role)).code);
  const { dataDir, logFolder } = product;
  const violations = isApart
    ? await withTemporalBeside(dataDir, (client) => inspect({ dataDir, logFolder, client }))
    : await inspect({ dataDir, logFolder, client: null });
  if (isApart) exitCodes.push((await product.stop('temporal')).code);
  const orphans = findProcesses(product.temporalServer);
  return { violations, exitCodes, orphans };
}

export const summary =
  'endpoint, worker and Temporal killed at random while a foreign service delivers [60 30 1 | … up]';

/** @throws Error a promise was broken */
export async function main([
  invoices = '60',
  kills = '30',
  seed = '1',
  how = 'apart',
]: readonly string[]): Promise<void> {
  const result = await runProcesses({
    isUp: how === 'up',
    invoices: Number(invoices),
    kills: Number(kills),
    seed: Number(seed),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const broken = brokenPromises(result);
  if (broken.length > 0)
    throw new Error(`${broken.length} promises were broken: ${broken.slice(0, 5).join('; ')}`);
}

const KEYS = { tenants: 'tenant', carriers: 'carrier', zones: 'carrier_zone' } as const;

/** @returns in words, what differs; empty when the three reports add up to the rows */
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
    const reported = await ask(product, 'report', report, '--level', 'all', '--format', 'json');
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

async function ask(
  product: Product,
  ...args: readonly string[]
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { code, out, err } = await product.command(...args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`);
  return JSON.parse(out) as Readonly<Record<string, unknown>>[];
}

/** @returns paths with their modes, relative to the folder; `.` is the folder itself */
export async function openToOthers(folder: string): Promise<readonly string[]> {
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

/** The Temporal server is a child of the role that looks after it, and can die alone, with it, or survive it. */
type Victim = Role | 'temporal-server';

interface Kill {
  readonly name: string;
  readonly victims: readonly Victim[];
  /** How often, among the others. */
  readonly weight: number;
}

export interface KillOptions {
  readonly product: Product;
  /** `['up']` or the three roles. */
  readonly roles: readonly Role[];
  readonly kills: number;
  readonly random: () => number;
  /** Told before each kill. */
  readonly progress?: (text: string, nth: number) => void;
}

/** @returns how often each kind of kill was done, by its name */
export async function killAndRestart(options: KillOptions): Promise<Readonly<Record<string, number>>> {
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

function choose(kills: readonly Kill[], dice: number): Kill {
  let left = dice * kills.reduce((sum, { weight }) => sum + weight, 0);
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
    // It was gone already, and nobody had started it again yet.
  }
}
