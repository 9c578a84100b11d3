import { expect, test } from 'vitest';
import { listReports } from '../../reports/catalogue.ts';
import { CATALOGUE } from './model/catalogue.ts';
import { playBase, playHistories, RICH_SEED } from './play/run.ts';

/** A difference is made smaller before it is reported, which takes a minute more. */
const SECONDS = 12;
const seed = Number(process.env.WORLD_SEED ?? Date.now() & 0x7f_ff_ff_ff);

test('answers all questions on a rich history as an independent model does', async () => {
  await playBase(RICH_SEED, seed);
  // Half a minute on a quiet machine; a busy one takes ten times as long.
}, 1_800_000);

test('answers random histories as an independent model does', async () => {
  console.log(`world: seed ${seed} (WORLD_SEED=${seed} repeats it)`);
  expect(await playHistories({ seed, seconds: SECONDS })).toBeGreaterThan(0);
});

test('the model answers every report', () => {
  expect(Object.keys(CATALOGUE).sort()).toEqual(
    listReports()
      .map(({ name }) => name)
      .sort(),
  );
});
