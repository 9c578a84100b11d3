/**
 * Fuzzing: a target runs generated cases. Each case depends only on seed and number, so that a failing one can be repeated alone. A
 * target is a file of this folder that exports `summary` and `open`.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRandom, type Random } from '../support/random.ts';

export interface FuzzTarget {
  readonly summary: string;
  /** Number of cases in `npm test`, about a second's; default: 2,000. */
  readonly quickCases?: number;
  open(): Promise<FuzzRun>;
}

export interface FuzzRun {
  /** Runs one case. An error is a crash, so it also throws for a wrong result; an expected refusal is caught inside. */
  play(random: Random): void | Promise<void>;
  close?(): Promise<void>;
}

export interface Crash {
  readonly nth: number;
  readonly error: string;
}

const FOLDER = import.meta.dirname;

export async function fuzzTargets(): Promise<ReadonlyMap<string, FuzzTarget>> {
  const targets = new Map<string, FuzzTarget>();
  for (const file of (await readdir(FOLDER)).sort()) {
    if (!file.endsWith('.ts') || file === 'main.ts' || file.startsWith('fuzz')) continue;
    const module = (await import(pathToFileURL(join(FOLDER, file)).href)) as Partial<FuzzTarget>;
    const { summary, quickCases, open } = module;
    if (summary === undefined || open === undefined) continue;
    targets.set(file.replace(/\.ts$/, ''), {
      summary,
      open,
      ...(quickCases === undefined ? {} : { quickCases }),
    });
  }
  return targets;
}

export function randomOf(seed: number, nth: number): Random {
  return createRandom((Math.imul(seed, 0x85ebca6b) ^ nth) >>> 0);
}

export async function playCase(run: FuzzRun, seed: number, nth: number): Promise<Crash | null> {
  try {
    await run.play(randomOf(seed, nth));
    return null;
  } catch (error) {
    return { nth, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
