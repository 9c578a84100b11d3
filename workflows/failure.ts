import { ActivityFailure, ApplicationFailure, isCancellation } from '@temporalio/workflow';
import { type ServiceError, serviceError } from '../lib/wire/service-errors.ts';

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly activity?: string;
}

/** @throws `error` itself when it is a cancellation or not the failure of an activity */
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

/** An unknown error is treated as a failure of the whole service that may pass. */
export function reactionTo({ code }: Failure): ServiceError {
  return serviceError(code) ?? { reaction: 'retry', scope: 'service' };
}
