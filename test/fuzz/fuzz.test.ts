/** The first cases of every fuzz target; `npm run fuzz` runs a million. A hang ends with the time limit of a test. */

import { expect, test } from 'vitest';
import { attack } from '../support/attack.ts';
import { BATCH, fuzzTargets, playCases } from './fuzz-targets.ts';

const targets = await fuzzTargets();

test.each([...targets])('no case of %s crashes', async (name, { open, quickCases = 2_000 }) => {
  const run = await open();
  const crashes: string[] = [];
  for (let first = 0; first < quickCases; first += BATCH) {
    const end = Math.min(first + BATCH, quickCases);
    for (const { nth, error } of await playCases(run, 1, { first, end }))
      crashes.push(`case ${nth}: ${error}`);
  }
  await run.close?.();
  expect(crashes.slice(0, 3)).toEqual([]);
  attack(`generated input: ${name}`, { tries: quickCases, held: quickCases - crashes.length });
});
