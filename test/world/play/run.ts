import fc from 'fast-check';
import type { LakeServer } from '../../warehouse/lake/support.ts';
import { makeDataDir } from '../../warehouse/support.ts';
import { base, history, listing } from '../draw/history.ts';
import type { History } from '../history.ts';
import { QUESTIONS } from '../model/catalogue.ts';
import { compareAll, compareReports } from './compare.ts';
import { play } from './fast.ts';

export interface WorldRun {
  readonly seed: number;
  readonly seconds: number;
  readonly path?: string;
  readonly reports?: readonly string[];
  /** Over a lake of its own for each history, with PostgreSQL; otherwise over a DuckDB file. */
  readonly lakes?: LakeServer;
}

/** @throws the smallest history that shows a difference, with the command that repeats it @returns how many were played */
export async function playHistories(run: WorldRun): Promise<number> {
  const { seed, seconds, path, reports, lakes = null } = run;
  const asked = QUESTIONS.filter(({ report }) => reports?.includes(report) ?? true);
  const until = Date.now() + seconds * 1_000;
  let played = 0;
  let hasFailed = false;
  const property = fc.asyncProperty(history(asked), async (drawn) => {
    // Once a history shows a difference, smaller ones are tried for as long as it takes.
    if (played > 0 && !hasFailed && Date.now() > until) return;
    await playOne(drawn, lakes).catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
    played += 1;
  });
  // A path belongs to the seed of its batch.
  for (let batch = seed; played === 0 || Date.now() < until; batch += 1) {
    const result = await fc.check(property, {
      seed: batch,
      ...{ numRuns: BATCH, interruptAfterTimeLimit: MAX_BATCH_MS },
      ...(path === undefined ? {} : { path }),
    });
    // On a slow machine the time may end before the first history of a batch.
    if (result.counterexample !== null) throw new Error(described(result, lakes !== null));
    if (path !== undefined) break;
  }
  return played;
}

/** Its history tells many faults apart; chosen once. */
export const RICH_SEED = 2;

/** Plays the history with many situations that a seed draws, and asks all questions. @param turn decides which are asked with filters */
export async function playBase(seed: number, turn: number, reports?: readonly string[]): Promise<void> {
  const [drawn] = fc.sample(base, { seed, numRuns: 1 });
  if (drawn === undefined) throw new Error('Nothing is drawn.');
  const played = await play(drawn);
  try {
    const questions = QUESTIONS.filter(({ report }) => reports?.includes(report) ?? true);
    // A page of one line is tried on histories of few.
    const listings = fc.sample(listing, { seed, numRuns: 8 }).map((one) => ({ ...one, pageSize: 120 }));
    await compareAll(played, { questions, listings, turn });
  } finally {
    await played.test.close();
  }
}

const BATCH = 50;
/** A batch takes a part of it; the rest is for making a failure smaller. */
const MAX_BATCH_MS = 120_000;

function described(
  { seed, counterexamplePath, counterexample, errorInstance }: fc.RunDetails<[History]>,
  isLake: boolean,
): string {
  const error = errorInstance instanceof Error ? errorInstance : new Error(String(errorInstance));
  return [
    JSON.stringify(counterexample?.[0], null, 1).replaceAll(/\{\s+"shipDate[^}]*\}/g, (row) =>
      row.replaceAll(/\s*\n\s*/g, ' '),
    ),
    error.name === 'Difference' ? error.message : String(error.stack),
    `A history shows a difference. Repeat it: npm run world -- --seed ${seed} --path ${counterexamplePath}${isLake ? ' --lake' : ''}`,
  ].join('\n');
}

export async function playOne(drawn: History, lakes: LakeServer | null = null): Promise<void> {
  const played = await play(drawn, (await lakes?.aLake(makeDataDir())) ?? null);
  try {
    await compareReports(played, drawn);
  } finally {
    await played.test.close();
  }
}
