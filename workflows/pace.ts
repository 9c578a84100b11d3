/** The pauses and limits of the invoice workflow: an input, so that a test can pass '20 ms'. */

import type { Duration } from '@temporalio/common';
import ms from 'ms';

export interface Pace {
  /** Pauses before the service is queried about a draft; the last repeats. */
  readonly overdueAfter: readonly Duration[];
  /** Pauses before a rejected file is requested again; the last repeats. */
  readonly repairAfter: readonly Duration[];
  /** First and longest pause between two series of attempts. */
  readonly backoffFirst: Duration;
  readonly backoffMax: Duration;
  /** Total pauses before a failing file needs attention. Only pauses count, not the worker's downtime. */
  readonly attentionAfter: Duration;
  /** The same while the service has no file for a finalized invoice. */
  readonly attentionAfterMissing: Duration;
  /** Whether the service confirms a void that only an event reported. */
  readonly confirmVoids: boolean;
  /** Pauses before a denied void is checked again; then a person decides. */
  readonly confirmVoidAfter: readonly Duration[];
  /** First and longest pause of an activity's own retries. */
  readonly retryFirst: Duration;
  readonly retryMax: Duration;
  /** Attempts of a network activity in one series. */
  readonly retryAttempts: number;
}

export const DEFAULT_PACE: Pace = {
  overdueAfter: ['1 h', '6 h', '24 h'],
  repairAfter: ['1 h', '6 h', '1 d', '2 d', '4 d', '8 d', '16 d'],
  backoffFirst: '1 min',
  backoffMax: '1 h',
  attentionAfter: '1 d',
  attentionAfterMissing: '7 d',
  confirmVoids: true,
  confirmVoidAfter: ['1 min', '10 min', '1 h'],
  retryFirst: '1 s',
  retryMax: '5 min',
  retryAttempts: 6,
};

export function inMilliseconds(duration: Duration): number {
  return typeof duration === 'number' ? duration : ms(duration);
}

/** The n-th pause of a series that doubles up to the longest. */
export function nthBackoff(pace: Pace, n: number): number {
  return Math.min(inMilliseconds(pace.backoffFirst) * 2 ** Math.min(n, 30), inMilliseconds(pace.backoffMax));
}

/** The n-th of a list of pauses, whose last repeats. */
export function nthPause(pauses: readonly Duration[], n: number): number {
  return inMilliseconds(pauses[Math.min(n, pauses.length - 1)] ?? '1 d');
}
