/** How patient the invoice workflow is. Every duration is an input, so that a test can pass '20 ms'. */

import type { Duration } from '@temporalio/common';
import ms from 'ms';

export interface Pace {
  /** A draft is asked for after the first, then after the second, …; the last repeats. */
  readonly overdueAfter: readonly Duration[];
  /** A file whose rows were refused is asked for again after the first, then after the second, …; the last repeats. */
  readonly repairAfter: readonly Duration[];
  /** First and longest pause between two series of attempts to get a file. */
  readonly backoffFirst: Duration;
  readonly backoffMost: Duration;
  /** How much pausing a failing file is worth before a person is asked. Only pauses count, not our own downtime. */
  readonly attentionAfter: Duration;
  /** The same when the service knows the invoice to be finalized and still has no file for it. */
  readonly attentionAfterMissing: Duration;
  /** Whether the service is asked about a void that only an event reported. */
  readonly confirmVoids: boolean;
  /** A void that it denies is asked about again after each of these; then a person has to decide. */
  readonly confirmVoidAfter: readonly Duration[];
  /** First and longest pause of an activity's own retries. */
  readonly retryFirst: Duration;
  readonly retryMost: Duration;
  /** Attempts of a network activity before the workflow hears of it; a series of them follows each backoff. */
  readonly retryAttempts: number;
}

export const DEFAULT_PACE: Pace = {
  overdueAfter: ['1 h', '6 h', '24 h'],
  repairAfter: ['1 h', '6 h', '1 d', '2 d', '4 d', '8 d', '16 d'],
  backoffFirst: '1 min',
  backoffMost: '1 h',
  attentionAfter: '1 d',
  attentionAfterMissing: '7 d',
  confirmVoids: true,
  confirmVoidAfter: ['1 min', '10 min', '1 h'],
  retryFirst: '1 s',
  retryMost: '5 min',
  retryAttempts: 6,
};

/** `'1 min'` and a number of milliseconds say the same. */
export function inMilliseconds(duration: Duration): number {
  return typeof duration === 'number' ? duration : ms(duration);
}

/** The n-th pause of a series that doubles from `first` up to `most`. */
export function nthBackoff(pace: Pace, n: number): number {
  return Math.min(inMilliseconds(pace.backoffFirst) * 2 ** Math.min(n, 30), inMilliseconds(pace.backoffMost));
}
