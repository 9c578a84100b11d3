/** Runs the sides of a bench in turn, and compares what was found with what is promised. */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Rounds, Sample } from './ratios.ts';

/** Each side gets an empty folder. */
export type Sides = Readonly<Record<string, (folder: string) => Promise<Sample>>>;

export interface Promised {
  readonly what: string;
  readonly found: number;
  readonly atMost: number;
  readonly floor?: string;
}

/** Round by round, so that whatever else the machine does meets all sides alike. */
export async function inTurn(
  { folder, rounds }: { readonly folder: string; readonly rounds: number },
  sides: Sides,
): Promise<Rounds> {
  const samples = new Map<string, Sample[]>(Object.keys(sides).map((side) => [side, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [side, run] of Object.entries(sides)) {
      const place = join(folder, 'side');
      await mkdir(place, { recursive: true });
      const sample = await run(place);
      await rm(place, { recursive: true, force: true });
      samples.get(side)?.push(sample);
      process.stderr.write(`round ${round + 1} of ${rounds}: ${side}: ${Math.round(sample.ms)} ms\n`);
    }
  }
  return samples;
}

/** Prints whether each promise is kept. @returns the missed ones */
export function missedOf(promises: readonly Promised[]): readonly string[] {
  return promises.flatMap(({ what, found, atMost }) => {
    const holds = found <= atMost;
    process.stdout.write(`${holds ? 'holds ' : 'MISSED'} ${what}: ${found.toFixed(2)}, promised ${atMost}\n`);
    return holds ? [] : [what];
  });
}

export function expectKept(promises: readonly Promised[]): void {
  const missed = missedOf(promises);
  if (missed.length > 0) throw new Error(`Missed: ${missed.join('; ')}.`);
}
