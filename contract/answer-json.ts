/** The border between an answer's bytes and its meaning. */

import { NotJsonError, parseJson } from './wire.js';

/** An answer that is not what the specification promises; the message names fields, never values. */
export class MalformedAnswerError extends Error {
  override readonly name = 'MalformedAnswerError';
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
