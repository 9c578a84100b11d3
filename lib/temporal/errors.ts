import { EXIT, errorClass } from '../errors.ts';

const KEY_HINT = 'compare BILLSYNC_ENCRYPTION_KEY with the key that the payload was encrypted with';

export class TemporalError extends errorClass({
  'temporal-not-started': {
    message: 'No Temporal server runs for this data folder.',
    exitCode: EXIT.unreachable,
    hint: 'start `billsync up` or `billsync temporal`, or set TEMPORAL_ADDRESS',
  },
  'temporal-unreachable': {
    message: 'Temporal at %s does not answer.',
    exitCode: EXIT.unreachable,
    hint: 'start that server, or correct TEMPORAL_ADDRESS',
  },
  /** No key is made for a Temporal of others, because it would be unknown to the other machines. */
  'encryption-key-missing': {
    message: 'BILLSYNC_ENCRYPTION_KEY is required when Temporal runs on another machine.',
    exitCode: EXIT.usage,
    hint: 'set it to `id:base64` of 32 bytes, the same for every process',
  },

  'port-taken': {
    message: 'Another process listens at %s.',
    exitCode: EXIT.locked,
    hint: 'end that process, or set TEMPORAL_ADDRESS to a free port',
  },
  /** The server ended before it answered, so another start is safe; usually another process took one of its ports. */
  'temporal-ended': {
    message: 'The Temporal server ended while billsync waited for %s: %s',
    exitCode: EXIT.unreachable,
  },
  'temporal-database-damaged': {
    message: 'The database of the embedded Temporal server is damaged: %s',
    exitCode: EXIT.checkFailed,
    hint: '`billsync temporal reset` moves it aside and sends every received event again; nothing is lost',
  },
  'temporal-database-in-use': {
    message: 'The database of the embedded Temporal server is in use by another process.',
    exitCode: EXIT.locked,
    hint: 'stop `billsync up` or `billsync temporal` first',
  },
  'temporal-server-missing': {
    message: 'No Temporal server could be found or fetched.\n%s',
    exitCode: EXIT.unreachable,
    hint: 'install the Temporal CLI (https://docs.temporal.io/cli) so that `temporal` is on PATH, or set TEMPORAL_ADDRESS to a running server',
  },

  'unknown-encryption-key': {
    message: 'A payload was encrypted with the key "%s"; known here: %s.',
    exitCode: EXIT.usage,
    hint: KEY_HINT,
  },
  'undecryptable-payload': {
    message:
      'A payload does not fit the encryption key "%s": it was altered, or the key was changed under the same id.',
    exitCode: EXIT.usage,
    hint: KEY_HINT,
  },
  /** billsync encrypts all of its payloads, so another program wrote an unencrypted one. */
  'unencrypted-payload': {
    message: 'An unencrypted payload for %s was found in Temporal. billsync did not write it and ignores it.',
    exitCode: EXIT.checkFailed,
  },

  'workflow-bundle': {
    message: 'The workflow code cannot be bundled: %s.',
    exitCode: EXIT.checkFailed,
    hint: 'check that the cache folder can be written, or reinstall billsync',
  },
}) {}

export function isTemporalError(
  error: unknown,
  ...codes: readonly TemporalError['code'][]
): error is TemporalError {
  return error instanceof TemporalError && codes.includes(error.code);
}

export function isUnreachable(error: unknown): boolean {
  return isTemporalError(error, 'temporal-unreachable', 'temporal-not-started');
}
