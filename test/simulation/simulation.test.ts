/** The real workflows and a real warehouse in virtual time: what chance does to them, and that a break is noticed. */

import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { workflowBundle } from '../../worker/workflow-bundle.ts';
import { forgottenBy, MUTANTS, type MutantName, mutated } from './mutants.ts';
import { runSeeds } from './run-seeds.ts';
import type { Story } from './simulate.ts';

type Told = Map<number, readonly string[]>;

async function tellSeeds(): Promise<Awaited<ReturnType<typeof runSeeds>> & { readonly told: Told }> {
  const told: Told = new Map();
  const onStory = (story: Story): void => void told.set(story.seed, story.told);
  return { ...(await runSeeds({ from: 1, count: 20, onStory })), told };
}

let seeds: ReturnType<typeof tellSeeds> | undefined;
/** Once for all tests. */
function toldSeeds(): ReturnType<typeof tellSeeds> {
  seeds ??= tellSeeds();
  return seeds;
}

describe('simulation', () => {
  test('every seed ends as the books of the service say, and the nine invariants hold', async () => {
    const { failures, replays } = await toldSeeds();
    expect(failures).toEqual([]);
    expect(replays).toBeGreaterThan(5);
  });

  test('a seed tells the same story twice', async () => {
    const { told } = await toldSeeds();
    const again: (readonly string[])[] = [];
    await runSeeds({ from: 7, count: 2, onStory: (story) => again.push(story.told) });
    expect(again[0]?.length).toBeGreaterThan(1);
    expect(again).toEqual([told.get(7), told.get(8)]);
  });

  // The others take more seeds than a test run has time for: `npm run chaos -- simulation --mutant NAME`.
  test('notices workflow code that answers differently when it is replayed', async () => {
    const mutant = 'answers-differently-when-replayed';
    const { failures } = await runSeeds({ from: 1, count: 30, mutant, isFirstEnough: true });
    expect(failures[0]?.wrong[0]).toContain('NonDeterminismError');
  });

  test('notices a rebuild that forgets what a person decided', async () => {
    const { failures } = await runSeeds({ from: 4, count: 1, mutant: 'restore-forgotten' });
    expect(failures[0]?.wrong[0]).toContain('RebuildLossError');
  });

  test('every mutant fits the code that it breaks', async () => {
    const { codePath } = await workflowBundle(false);
    const code = await readFile(codePath, 'utf8');
    for (const name of Object.keys(MUTANTS) as MutantName[]) {
      expect(mutated(code, name) === code).toBe(forgottenBy(name) !== null);
    }
  });
});
