/** The real workflows and a real warehouse in virtual time: what chance does to them, and that a break is noticed. */

import { describe, expect, test } from 'vitest';
import { MUTANTS, type MutantName, runSeeds } from './run-seeds.js';

const NAMES = Object.keys(MUTANTS) as MutantName[];

describe('simulation', () => {
  test('every seed ends as the books of the service say, and the nine invariants hold', async () => {
    const { failures, replays } = await runSeeds({ from: 1, count: 25 });
    expect(failures).toEqual([]);
    expect(replays).toBeGreaterThan(5);
  }, 60_000);

  test('a seed tells the same story twice', async () => {
    const tell = async () => {
      const told: (readonly string[])[] = [];
      await runSeeds({ from: 7, count: 2, onStory: (story) => told.push(story.told) });
      return told;
    };
    const first = await tell();
    expect(first[0]?.length).toBeGreaterThan(1);
    expect(await tell()).toEqual(first);
  }, 60_000);

  test.each(NAMES)(
    'notices a lifecycle that is broken on purpose: %s',
    async (mutant) => {
      const { failures } = await runSeeds({ from: 1, count: 60, mutant, isFirstEnough: true });
      expect(failures).toHaveLength(1);
    },
    60_000,
  );
});
