/** The border between an answer's bytes and its meaning. */

import { BillsyncError, EXIT } from './errors.ts';
import { NotJsonError, parseJson } from './wire.ts';

/** An answer that is not what the specification promises; the message names fields, never values. */
export class MalformedAnswerError extends BillsyncError {
  readonly code = 'malformed-answer';
  override readonly exitCode = EXIT.serviceError;
}

/** @throws MalformedAnswerError */
export function jsonOf(body: Uint8Array, what: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    throw new MalformedAnswerError(`The ${what} is not JSON.`, { cause: error });
  }
}
