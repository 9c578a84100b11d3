/** Reads what an activity failed with. A failed activity is an ActivityFailure with the ApplicationFailure as its cause. */

import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow';

export interface Failure {
  /** The `code` that `activities/failures.ts` gave it, or `timeout`, or `unknown`. */
  readonly code: string;
  readonly message: string;
  /** Name of the activity. */
  readonly activity?: string;
}

/** The failure of an activity. A cancellation, and an error of the workflow itself, are thrown on. */
export function failureOf(error: unknown): Failure {
  if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
  const { cause, activityType: activity } = error;
  if (cause instanceof ApplicationFailure) {
    return { code: cause.type ?? 'unknown', message: cause.message, activity };
  }
  return {
    activity,
    code: cause?.name === 'TimeoutFailure' ? 'timeout' : 'unknown',
    message: cause?.message ?? error.message,
  };
}
