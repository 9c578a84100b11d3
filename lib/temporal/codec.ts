/**
 * Encrypts everything that enters Temporal's history: presigned URLs are passwords for a day, error texts may quote
 * them, and neither the server's operators nor its database need to read an invoice.
 *
 * AES-256-GCM, a fresh nonce per payload, the key's id beside it. The first key encrypts, every key decrypts: to
 * rotate, put the new key in front and drop the old one once the runs that used it have left retention.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import {
  type DataConverter,
  defaultPayloadConverter,
  type Payload,
  type PayloadCodec,
  type SerializationContext,
} from '@temporalio/common';
import protos from '@temporalio/proto';
import { BillsyncError, EXIT } from '../wire/errors.ts';
import { UNENCRYPTED } from '../wire/names.ts';

export interface EncryptionKey {
  /** Readable in history; says which key to use. */
  readonly id: string;
  /** 32 bytes. */
  readonly key: Uint8Array;
}

/** Loaded by path, by the worker and by the workflow bundler alike. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL('./failure-converter.cjs', import.meta.url));

const ENCODING = 'binary/encrypted';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A payload was encrypted with a key that this process does not have. Nothing is read in clear instead. */
export class UnknownEncryptionKeyError extends BillsyncError {
  readonly code = 'unknown-encryption-key';
  override readonly exitCode = EXIT.usage;
  readonly keyId: string;

  constructor(keyId: string, known: readonly string[]) {
    super(
      `A payload was encrypted with the key "${keyId}"; known here: ${known.join(', ')}. Add it to BILLSYNC_ENCRYPTION_KEY.`,
    );
    this.keyId = keyId;
  }
}

/** The bytes do not fit the key of their id: the key was changed under its id, or somebody altered the bytes. */
export class UndecryptablePayloadError extends BillsyncError {
  readonly code = 'undecryptable-payload';
  override readonly exitCode = EXIT.usage;

  constructor(keyId: string, options?: ErrorOptions) {
    super(
      `A payload does not fit the encryption key "${keyId}": it was altered, or the key was changed under the same id.`,
      options,
    );
  }
}

/** Clear text came from Temporal. All we write there is encrypted, so it is not from us. */
export class UnencryptedPayloadError extends BillsyncError {
  readonly code = 'unencrypted-payload';
  override readonly exitCode = EXIT.checkFailed;

  constructor(whose: string) {
    super(`Clear text came from Temporal for ${whose}. It is not ours and was not read.`);
  }
}

export interface CodecOptions {
  /**
   * What becomes of clear text (ADR 3). `throw`: the caller is told, for clients. `replace`: `UNENCRYPTED` takes its
   * place, for workers, since a workflow's task that throws because of what stands in history fails for ever.
   */
  readonly clearText?: 'throw' | 'replace';
  /** Told of every payload that is refused or cannot be read, each time it is met; it must not throw. */
  readonly onTrouble?: (trouble: PayloadTrouble) => void;
}

export interface PayloadTrouble {
  readonly kind: 'unencrypted' | 'undecryptable';
  /** For people: the workflow, as far as it is known. */
  readonly whose: string;
  readonly message: string;
}

/** The one data converter of every client, worker and command: two that differ cannot read each other. */
export function createDataConverter(
  keys: readonly EncryptionKey[],
  options: CodecOptions = {},
): DataConverter {
  return { payloadCodecs: [createCodec(keys, options)], failureConverterPath: FAILURE_CONVERTER_PATH };
}

export function createCodec(
  keys: readonly EncryptionKey[],
  { clearText = 'throw', onTrouble }: CodecOptions = {},
): PayloadCodec {
  const [current] = keys;
  if (current === undefined) throw new Error('A codec needs at least one key.');
  for (const { id, key } of keys) {
    if (key.length !== 32) throw new Error(`The encryption key "${id}" has ${key.length} bytes, not 32.`);
  }
  const byId = new Map(keys.map((key) => [key.id, key.key]));

  function decode(payload: Payload, context: SerializationContext | undefined): Payload {
    const whose = context?.workflowId === undefined ? 'somebody' : `the workflow ${context.workflowId}`;
    if (!isEncrypted(payload)) {
      const error = new UnencryptedPayloadError(whose);
      onTrouble?.({ kind: 'unencrypted', whose, message: error.message });
      // Without a context it is a memo in a list of schedules, in which strangers' stand beside ours.
      if (clearText === 'throw' && context !== undefined) throw error;
      return replacement;
    }
    try {
      return decrypt(payload, byId);
    } catch (error) {
      onTrouble?.({ kind: 'undecryptable', whose, message: (error as Error).message });
      throw error;
    }
  }
  return {
    encode: async (payloads) => payloads.map((payload) => encrypt(payload, current)),
    decode: async (payloads, context) => payloads.map((payload) => decode(payload, context)),
  };
}

const replacement = defaultPayloadConverter.toPayload(UNENCRYPTED);

function encrypt(payload: Payload, { id, key }: EncryptionKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const plain = protos.temporal.api.common.v1.Payload.encode(payload).finish();
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return {
    metadata: { encoding: Buffer.from(ENCODING), 'encryption-key-id': Buffer.from(id) },
    data: Buffer.concat([nonce, cipher.getAuthTag(), body]),
  };
}

function isEncrypted(payload: Payload): boolean {
  return text(payload.metadata?.encoding) === ENCODING;
}

/**
 * Bytes that do not fit are no clear text and are never passed over: whoever set a wrong key would lose what was said in
 * the right one. The task fails, and goes on with the right key.
 */
function decrypt(payload: Payload, keys: ReadonlyMap<string, Uint8Array>): Payload {
  const id = text(payload.metadata?.['encryption-key-id']);
  const key = keys.get(id);
  if (key === undefined) throw new UnknownEncryptionKeyError(id, [...keys.keys()]);
  try {
    const data = Buffer.from(payload.data ?? []);
    const nonce = data.subarray(0, NONCE_BYTES);
    // Without its length a tag of four bytes would do.
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(data.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const plain = Buffer.concat([decipher.update(data.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return protos.temporal.api.common.v1.Payload.decode(plain);
  } catch (error) {
    throw new UndecryptablePayloadError(id, { cause: error });
  }
}

function text(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes).toString('utf8') : '';
}
