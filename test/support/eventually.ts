/** Waits for what comes in its own time, with a deadline instead of a guess. */

import { setTimeout as sleep } from 'node:timers/promises';

/** Who waits never asks for more than this part of the time: a question takes processor time from what is waited for. */
const PART_SPENT_ASKING = 0.1;
const PAUSE_AT_MOST_MS = 500;

/** Asks until the answer is truthy; fails with what was last seen. @param options.every milliseconds between two questions, at least */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  { within = 60_000, every = 30 }: { readonly within?: number; readonly every?: number } = {},
): Promise<NonNullable<T>> {
  const deadline = Date.now() + within;
  for (;;) {
    const askedMs = performance.now();
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > deadline)
      throw new Error(`Still ${String(answer)} after ${within} ms: ${ask.toString()}`);
    await pauseAfter(performance.now() - askedMs, every);
  }
}

/** Between two questions: longer after one that took long. */
export async function pauseAfter(tookMs: number, atLeastMs: number): Promise<void> {
  await sleep(Math.max(atLeastMs, Math.min(tookMs / PART_SPENT_ASKING, PAUSE_AT_MOST_MS)));
}
