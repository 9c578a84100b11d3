/** The first cases of every fuzz target; `npm run fuzz` runs a million. A hang ends with the time limit of a test. */

import { expect, test } from 'vitest';
import { attack } from '../support/attack.ts';
import { fuzzTargets, playCase } from './fuzz-targets.ts';

const targets = await fuzzTargets();

test.each([...targets])('no case of %s crashes', async (name, { open, quickCases = 2_000 }) => {
  const run = await open();
  const crashes: string[] = [];
  for (let nth = 0; nth < quickCases; nth += 1) {
    const crash = await playCase(run, 1, nth);
    if (crash !== null) crashes.push(`case ${nth}: ${crash.error}`);
  }
  await run.close?.();
  expect(crashes.slice(0, 3)).toEqual([]);
  attack(`generated input: ${name}`, { tries: quickCases, held: quickCases - crashes.length });
});
