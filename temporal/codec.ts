/**
 * Encrypts everything that enters Temporal's history: presigned URLs are passwords for a day, error texts may quote
 * them, and neither the server's operators nor its database need to read an invoice.
 *
 * AES-256-GCM, a fresh nonce per payload, the key's id beside it. The first key encrypts, every key decrypts: to
 * rotate, put the new key in front and drop the old one once the runs that used it have left retention.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import protos from '@temporalio/proto';

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
export class UnknownEncryptionKeyError extends Error {
  override readonly name = 'UnknownEncryptionKeyError';
  readonly code = 'unknown-encryption-key';
  readonly keyId: string;

  constructor(keyId: string, known: readonly string[]) {
    super(
      `A payload was encrypted with the key "${keyId}"; known here: ${known.join(', ')}. Add it to BILLSYNC_ENCRYPTION_KEY.`,
    );
    this.keyId = keyId;
  }
}

/** The one data converter of every client, worker and command: two that differ cannot read each other. */
export function createDataConverter(keys: readonly EncryptionKey[]): DataConverter {
  return { payloadCodecs: [createCodec(keys)], failureConverterPath: FAILURE_CONVERTER_PATH };
}

export function createCodec(keys: readonly EncryptionKey[]): PayloadCodec {
  const [current] = keys;
  if (current === undefined) throw new Error('A codec needs at least one key.');
  for (const { id, key } of keys) {
    if (key.length !== 32) throw new Error(`The encryption key "${id}" has ${key.length} bytes, not 32.`);
  }
  const byId = new Map(keys.map((key) => [key.id, key.key]));
  return {
    encode: async (payloads) => payloads.map((payload) => encrypt(payload, current)),
    decode: async (payloads) => payloads.map((payload) => decrypt(payload, byId)),
  };
}

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

/** Payloads of another encoding pass as they are: a schedule or a tool may have written them in clear. */
function decrypt(payload: Payload, keys: ReadonlyMap<string, Uint8Array>): Payload {
  if (text(payload.metadata?.encoding) !== ENCODING || !payload.data) return payload;
  const id = text(payload.metadata?.['encryption-key-id']);
  const key = keys.get(id);
  if (key === undefined) throw new UnknownEncryptionKeyError(id, [...keys.keys()]);
  const data = Buffer.from(payload.data);
  const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(data.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  const plain = Buffer.concat([decipher.update(data.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return protos.temporal.api.common.v1.Payload.decode(plain);
}

function text(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes).toString('utf8') : '';
}
