/** Fields of an error do not cross the activity boundary, so a workflow branches on the failure's type. */

import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import type { ActivityInterceptors } from '@temporalio/worker';
import { BillsyncError } from '../lib/errors.ts';

/** A service that requests a longer pause is mistaken or hostile, so a pause ends after this time. */
const MAX_RETRY_AFTER_SECONDS = 3_600;

export function translateErrors(): ActivityInterceptors {
  return {
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          throw toFailure(error);
        }
      },
    },
  };
}

function toFailure(error: unknown): Error {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (error instanceof Error && error.name === 'AbortError') {
    return new CancelledFailure('The activity was cancelled.');
  }
  const code = codeOf(error);
  const seconds = retryAfterSeconds(error);
  return ApplicationFailure.create({
    type: code,
    message: error instanceof Error ? error.message : String(error),
    nonRetryable: error instanceof BillsyncError && error.reaction === 'fatal',
    details: [{ code }],
    ...(seconds === null ? {} : { nextRetryDelay: seconds * 1_000 }),
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code =
    'code' in error && typeof error.code === 'string' ? error.code : error.name.replace(/Error$/, '');
  return code
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

function retryAfterSeconds(error: unknown): number | null {
  if (!(error instanceof Error) || !('retryAfterSeconds' in error)) return null;
  const { retryAfterSeconds: seconds } = error;
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_SECONDS) : null;
}
