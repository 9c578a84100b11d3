/** Asks a workflow although its worker may be gone just now: whoever watches something long waits for the next one. */

import { ServiceError } from '@temporalio/client';
import { pause } from './pause.ts';

/** A restart takes seconds, a new machine minutes. */
const PATIENCE_MS = 300_000;
const EVERY_MS = 1_000;

/** @throws what Temporal says for five minutes, or says of the workflow itself; the signal's reason when it aborts */
export async function askPatiently<T>(ask: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ServiceError) || Date.now() > until) throw error;
      await pause(EVERY_MS, signal);
    }
  }
}
