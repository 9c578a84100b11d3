/**
 * Fuzzing: a target plays one case after the other, each from nothing but its seed and its number, so that every
 * finding can be played again alone. A target is a file of test/fuzz that exports `summary` and `open`.
 */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createDice, type Dice } from './dice.ts';

export interface FuzzTarget {
  /** One line for the list. */
  readonly summary: string;
  /** How many cases `npm test` plays; 2,000 when not said. Choose as many as take about a second. */
  readonly quickCases?: number;
  open(): Promise<FuzzRun>;
}

export interface FuzzRun {
  /**
   * Plays one case. What it throws is counted as a crash, so it throws as well when an answer breaks its promise; an
   * expected refusal is no crash and is caught inside.
   */
  play(dice: Dice): void | Promise<void>;
  /** Plays many at once, where that costs much less: for each what was wrong with it, null when it held. */
  playAll?(dice: readonly Dice[]): Promise<readonly (string | null)[]>;
  close?(): Promise<void>;
}

export interface Crash {
  readonly nth: number;
  /** Stack of what was thrown. */
  readonly error: string;
}

const FOLDER = join(import.meta.dirname, '../fuzz');

/** By name, which is the name of the file. */
export async function fuzzTargets(): Promise<ReadonlyMap<string, FuzzTarget>> {
  const targets = new Map<string, FuzzTarget>();
  for (const file of (await readdir(FOLDER)).sort()) {
    if (!file.endsWith('.ts') || file === 'main.ts' || file.endsWith('.test.ts')) continue;
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

/** The dice of one case. */
export function diceOf(seed: number, nth: number): Dice {
  return createDice((Math.imul(seed, 0x85ebca6b) ^ nth) >>> 0);
}

/** How many cases are played at once where a target can. */
export const AT_ONCE = 128;

/** Plays the cases from one number up to another, at once where the target can. @returns those that did not hold */
export async function playCases(
  run: FuzzRun,
  seed: number,
  { first, end }: { readonly first: number; readonly end: number },
): Promise<readonly Crash[]> {
  const numbers = Array.from({ length: end - first }, (_, index) => first + index);
  if (run.playAll !== undefined) {
    const found = await run.playAll(numbers.map((nth) => diceOf(seed, nth)));
    return found.flatMap((error, index) => (error === null ? [] : [{ nth: first + index, error }]));
  }
  const crashes: Crash[] = [];
  for (const nth of numbers) {
    const crash = await playCase(run, seed, nth);
    if (crash !== null) crashes.push(crash);
  }
  return crashes;
}

/** @returns what the case threw; null: it held */
export async function playCase(run: FuzzRun, seed: number, nth: number): Promise<Crash | null> {
  try {
    await run.play(diceOf(seed, nth));
    return null;
  } catch (error) {
    return { nth, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
