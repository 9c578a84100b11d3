/** The thread of a fuzz target, so that a case that hangs can be terminated. */

import { parentPort, workerData } from 'node:worker_threads';
import { fuzzTargets, playCase } from './fuzz-targets.ts';

export interface FuzzThreadData {
  readonly target: string;
  readonly seed: number;
  readonly first: number;
  readonly cases: number;
  /** Unix milliseconds until which the thread runs at least. */
  readonly untilMs: number;
  /** [0]: the number of the current case. */
  readonly progress: Int32Array<SharedArrayBuffer>;
}

const { target, seed, first, cases, untilMs, progress } = workerData as FuzzThreadData;
const found = (await fuzzTargets()).get(target);
if (found === undefined) throw new RangeError(`No fuzz target ${target}.`);
const run = await found.open();
let nth = first;
for (; nth < cases || Date.now() < untilMs; nth += 1) {
  Atomics.store(progress, 0, nth);
  const crash = await playCase(run, seed, nth);
  if (crash !== null) parentPort?.postMessage(crash);
}
Atomics.store(progress, 0, nth);
await run.close?.();
