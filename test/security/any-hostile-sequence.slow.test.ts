/**
 * After hostile inputs in any order the product goes on: the short form of `npm run chaos -- hostile`, which plays as many
 * sequences as one likes, damages the archive as well, and holds an honest invoice to the 30 s that are promised.
 */

import { expect, test } from 'vitest';
import { attack } from '../support/attack.ts';
import { playHostileSequence } from './hostile/sequence.ts';

/** Another seed plays another sequence; a failure names it. */
const SEED = 7;
/** A machine that runs other tests beside takes its time. */
const WITHIN_MS = 90_000;

test('loads an honest invoice after hostile inputs, restarts, verifies and rebuilds', async () => {
  const { played, broken } = await playHostileSequence({
    seed: SEED,
    inputs: 12,
    isArchiveDamaged: false,
    withinMs: WITHIN_MS,
  });
  expect(broken).toEqual([]);
  attack('hostile inputs in any order at the whole product', { tries: played.length, held: played.length });
});
