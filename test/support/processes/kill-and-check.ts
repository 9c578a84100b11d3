/**
 * What befalls the processes of a product: each alone or all at once killed -9, frozen first, or hit again while they
 * start; and each time started again without a pause, on the same ports and files.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Product, Role } from './product.js';

/** The Temporal server is a child of the role that looks after it, and can die alone, with it, or survive it. */
type Victim = Role | 'temporal-server';

interface Blow {
  readonly name: string;
  readonly victims: readonly Victim[];
  /** How often, among the others. */
  readonly weight: number;
}

export interface ViolenceOptions {
  readonly product: Product;
  /** `['up']` or the three roles. */
  readonly roles: readonly Role[];
  readonly blows: number;
  readonly random: () => number;
  /** Told before each blow. */
  readonly progress?: (text: string, nth: number) => void;
}

/** @returns how often each blow fell, by its name */
export async function doViolence(options: ViolenceOptions): Promise<Readonly<Record<string, number>>> {
  const { product, random, blows, progress } = options;
  const choices = options.roles.includes('up') ? AGAINST_UP : AGAINST_ROLES;
  const done: Record<string, number> = {};
  const count = (name: string): void => {
    done[name] = (done[name] ?? 0) + 1;
  };
  for (let nth = 1; nth <= blows; nth += 1) {
    await sleep(random() * 1_000);
    const blow = choose(choices, random());
    count(blow.name);
    progress?.(`${nth} of ${blows}: ${blow.name}`, nth);
    if (random() < 0.15) {
      count('frozen before');
      freeze(product, blow.victims);
      await sleep(random() * 3_000);
    }
    await strike(product, blow.victims);
    const roles = blow.victims.filter((victim) => victim !== 'temporal-server');
    if (random() < 0.25 && roles.length > 0) {
      count('killed again while starting');
      const starting = roles.map((role) => product.start(role).catch(() => undefined));
      await sleep(random() * 3_000);
      await strike(product, blow.victims);
      await Promise.all(starting);
    }
    await Promise.all(roles.map((role) => product.start(role)));
  }
  return done;
}

const AGAINST_ROLES: readonly Blow[] = [
  { name: 'worker', victims: ['worker'], weight: 30 },
  { name: 'webhook', victims: ['webhook'], weight: 20 },
  { name: 'temporal, its server survives', victims: ['temporal'], weight: 12 },
  { name: 'temporal-server alone', victims: ['temporal-server'], weight: 12 },
  { name: 'temporal and its server', victims: ['temporal', 'temporal-server'], weight: 12 },
  { name: 'all at once', victims: ['worker', 'webhook', 'temporal', 'temporal-server'], weight: 14 },
];

const AGAINST_UP: readonly Blow[] = [
  { name: 'up, its server survives', victims: ['up'], weight: 50 },
  { name: 'temporal-server alone', victims: ['temporal-server'], weight: 20 },
  { name: 'up and its server', victims: ['up', 'temporal-server'], weight: 30 },
];

function choose(blows: readonly Blow[], dice: number): Blow {
  let left = dice * blows.reduce((sum, { weight }) => sum + weight, 0);
  const [first, ...others] = blows;
  if (first === undefined) throw new RangeError('There is nothing to choose from.');
  let chosen = first;
  for (const blow of others) {
    left -= chosen.weight;
    if (left < 0) break;
    chosen = blow;
  }
  return chosen;
}

function freeze(product: Product, victims: readonly Victim[]): void {
  for (const victim of victims) {
    if (victim === 'temporal-server') signalServer(product, 'SIGSTOP');
    else product.signal(victim, 'SIGSTOP');
  }
}

async function strike(product: Product, victims: readonly Victim[]): Promise<void> {
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
