import { availableParallelism, loadavg } from 'node:os';

/** Programs of a test that run or wait to run, for each processor. */
const OWN_LOAD = 2;
/** So much of the time counts even on a machine that does almost nothing for the test. */
const MIN_SHARE = 0.1;

/**
 * A limit for work that a machine with its processors to itself does within `ms`; while other programs wait for them, time counts less.
 * @returns whether the time is over
 */
export function limitUnderLoad(ms: number): () => boolean {
  let [leftMs, beforeMs] = [ms, Date.now()];
  return () => {
    const passedMs = Date.now() - beforeMs;
    beforeMs += passedMs;
    const share = (OWN_LOAD * availableParallelism()) / Math.max(...loadavg().slice(0, 2));
    leftMs -= passedMs * Math.min(1, Math.max(MIN_SHARE, share));
    return leftMs < 0;
  };
}
