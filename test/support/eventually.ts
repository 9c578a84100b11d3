/** Waits for what comes in its own time, with a deadline instead of a guess. */

import { setTimeout as sleep } from 'node:timers/promises';

/** Ends what hangs: a machine that others use as well may take a hundred times as long as one by itself. */
const DEADLINE_MS = 120_000;
const PART_SPENT_ASKING = 0.1;
const PAUSE_AT_LEAST_MS = 20;
const PAUSE_AT_MOST_MS = 500;

/**
 * Asks until the answer is the wanted one, by default one that is truthy; an error is another that is not. What it waits for must last:
 * between two questions a busy machine may take seconds.
 *
 * @throws Error after two minutes, with the last answer or error
 */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  isWanted: (answer: NonNullable<T>) => boolean = Boolean,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let last: unknown; ; ) {
    const askedMs = performance.now();
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== null && isWanted(answer)) return answer;
      last = JSON.stringify(answer);
    } catch (error) {
      last = error instanceof Error ? error.stack : error;
    }
    if (Date.now() > deadline) throw new Error(`Still not so after ${DEADLINE_MS} ms: ${ask}\nLast: ${last}`);
    const tookMs = performance.now() - askedMs;
    await sleep(Math.max(PAUSE_AT_LEAST_MS, Math.min(tookMs / PART_SPENT_ASKING, PAUSE_AT_MOST_MS)));
  }
}
