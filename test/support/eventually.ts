/** Waits for a condition with a deadline instead of a fixed pause. */

import { setTimeout as sleep } from 'node:timers/promises';

/** A busy machine may take a hundred times as long as an idle one. */
const DEADLINE_MS = 120_000;
/** Share of the time that the checks may take. */
const CHECK_SHARE = 0.1;
const MIN_PAUSE_MS = 20;
const MAX_PAUSE_MS = 500;

/**
 * Repeats `check` until its result is accepted, by default until it is truthy; an error counts as not accepted. The condition has to
 * last: on a busy machine seconds may pass between two checks.
 *
 * @throws Error after two minutes, with the last result or error
 */
export async function eventually<T>(
  check: () => Promise<T> | T,
  isAccepted: (result: NonNullable<T>) => boolean = Boolean,
): Promise<NonNullable<T>> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let last: unknown; ; ) {
    const startedMs = performance.now();
    try {
      const result = await check();
      if (result !== undefined && result !== null && isAccepted(result)) return result;
      last = JSON.stringify(result);
    } catch (error) {
      last = error instanceof Error ? error.stack : error;
    }
    if (Date.now() > deadline) throw new Error(`Not after ${DEADLINE_MS} ms: ${check}\nLast: ${last}`);
    const tookMs = performance.now() - startedMs;
    await sleep(Math.max(MIN_PAUSE_MS, Math.min(tookMs / CHECK_SHARE, MAX_PAUSE_MS)));
  }
}
