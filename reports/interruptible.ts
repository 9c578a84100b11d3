/** Gives work on a published file a time limit: when it runs out, whatever statement runs is stopped. */

import { ReportInterruptedError } from './errors.ts';
import type { PublishedFile } from './published-file.ts';

export interface TimeLimit {
  readonly file: Pick<PublishedFile, 'connection'>;
  /** What is named when the limit runs out. */
  readonly name: string;
  readonly timeLimitMs: number;
  /** In milliseconds of the clock; several pieces of work may share one. */
  readonly deadline: number;
}

/** Node takes a timer of more than 31 bits for one of a millisecond; 24.8 days are as good as none here. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** interrupt() stops only the statement that runs at that moment, so it is repeated until the work has ended. */
const INTERRUPT_EVERY_MS = 20;

/** @throws ReportInterruptedError when the limit ran out before `work` ended, else what `work` throws */
export async function interruptible<T>(limit: TimeLimit, work: () => Promise<T>): Promise<T> {
  let ranOut = false;
  let repeated: NodeJS.Timeout | undefined;
  const timer = setTimeout(
    () => {
      ranOut = true;
      limit.file.connection.interrupt();
      repeated = setInterval(() => limit.file.connection.interrupt(), INTERRUPT_EVERY_MS);
    },
    Math.min(Math.max(0, limit.deadline - Date.now()), LONGEST_TIMER_MS),
  );
  try {
    const answer = await work();
    // Short statements may all have run between two interruptions; the limit ran out nevertheless.
    if (!ranOut) return answer;
  } catch (error) {
    if (!ranOut) throw error;
  } finally {
    clearTimeout(timer);
    clearInterval(repeated);
  }
  throw new ReportInterruptedError(limit.name, limit.timeLimitMs);
}
