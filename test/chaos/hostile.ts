/**
 * Random sequences of hostile inputs at `up`, one product each; `npm run chaos -- hostile [sequences] [seed] [inputs]`.
 * Every third sequence damages the archive as well. `hostile 1 SEED` plays the sequence of a seed again.
 */

import { type HostileSequenceResult, playHostileSequence } from '../security/hostile/sequence.ts';

export const summary = 'hostile inputs in any order, after which an honest invoice is loaded [5 1 16]';

/** Promised from the event to the published file. */
const PROMISED_MS = 30_000;

export async function main([sequences = '5', first = '1', inputs = '16']: readonly string[]): Promise<void> {
  const results: HostileSequenceResult[] = [];
  for (let seed = Number(first); seed < Number(first) + Number(sequences); seed += 1) {
    process.stderr.write(`seed ${seed}\n`);
    const result = await playHostileSequence({
      seed,
      inputs: Number(inputs),
      isArchiveDamaged: seed % 3 === 0,
      withinMs: PROMISED_MS,
      progress: (text) => process.stderr.write(`  ${text}\n`),
    });
    results.push(result);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }
  const failed = results.filter(({ broken }) => broken.length > 0);
  if (failed.length > 0) throw new Error(`Broken by seeds ${failed.map(({ seed }) => seed).join(', ')}.`);
}
