import type { Duration } from '@temporalio/common';
import ms from 'ms';

export interface Pace {
  /** Pauses before an overdue file is asked for; the last pause repeats. */
  readonly overdueAfter: readonly Duration[];
  /** Pauses before a rejected file is asked for again; the last pause repeats. */
  readonly repairAfter: readonly Duration[];
  readonly backoffFirst: Duration;
  readonly backoffMax: Duration;
  /** A failing file needs attention when its pauses sum to this; the worker's downtime does not count. */
  readonly attentionAfter: Duration;
  readonly attentionAfterMissing: Duration;
  /** False lets a void that only an event reported count without the service. */
  readonly confirmVoids: boolean;
  readonly confirmVoidAfter: readonly Duration[];
  readonly retryFirst: Duration;
  readonly retryMax: Duration;
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

export function nthBackoff(pace: Pace, n: number): number {
  return Math.min(inMilliseconds(pace.backoffFirst) * 2 ** Math.min(n, 30), inMilliseconds(pace.backoffMax));
}

/** Returns the n-th pause, counted from 0; the last pause of the list repeats. */
export function nthPause(pauses: readonly Duration[], n: number): number {
  return inMilliseconds(pauses[Math.min(n, pauses.length - 1)] ?? '1 d');
}
