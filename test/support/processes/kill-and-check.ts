/**
 * Kills the processes of a product: each alone or all at once with SIGKILL, frozen first, or killed again while they
 * start; and each time started again without a pause, on the same ports and files.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Product, Role } from './product.ts';

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
