/**
 * The only translator from our errors to Temporal's: domain code knows nothing of Temporal, and an error's fields do
 * not travel, so what a workflow branches on has to become a type and details here.
 *
 * Expected outcomes ("not exported yet", "the hash differs") are values that activities return; what arrives here is
 * worth trying again unless it is listed as hopeless.
 */

import { ApplicationFailure, CancelledFailure } from '@temporalio/common';

/** Trying again with the same settings and the same bytes gives the same answer. */
const HOPELESS = new Set(['not-configured', 'address-refused', 'redirect']);

/** Runs an activity's body and translates whatever it throws. Cancellation passes as it is. */
export async function translated<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw toFailure(error);
  }
}

export function toFailure(error: unknown): Error {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (isAbort(error)) return new CancelledFailure('The activity was cancelled.');
  const code = codeOf(error);
  const seconds = retryAfterSeconds(error);
  return ApplicationFailure.create({
    type: code,
    message: error instanceof Error ? error.message : String(error),
    nonRetryable: HOPELESS.has(code),
    details: [{ code }],
    ...(seconds === null ? {} : { nextRetryDelay: seconds * 1_000 }),
    ...(error instanceof Error ? { cause: error } : {}),
  });
}

/** The stable machine name of an error: its `code` in kebab-case, else its class in kebab-case. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const code =
    'code' in error && typeof error.code === 'string' ? error.code : error.name.replace(/Error$/, '');
  return code
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

/** What the service asked us to wait; a hint beyond an hour is a mistake or an attack, and is cut. */
function retryAfterSeconds(error: unknown): number | null {
  if (!(error instanceof Error) || !('retryAfterSeconds' in error)) return null;
  const { retryAfterSeconds: seconds } = error;
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, 3_600) : null;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
