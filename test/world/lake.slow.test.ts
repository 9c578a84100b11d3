import { expect, test } from 'vitest';
import { startLakeServer } from '../warehouse/lake/support.ts';
import { playHistories } from './play/run.ts';

test('answers random histories over a lake as an independent model does', async () => {
  const seed = Number(process.env.WORLD_SEED ?? Date.now() & 0x7f_ff_ff_ff);
  console.log(`world over a lake: seed ${seed} (WORLD_SEED=${seed} repeats it)`);
  const lakes = await startLakeServer();
  try {
    expect(await playHistories({ seed, seconds: 20, lakes })).toBeGreaterThan(0);
  } finally {
    await lakes.stop();
  }
}, 900_000);
