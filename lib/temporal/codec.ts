/**
 * Every payload in Temporal's history is encrypted: presigned URLs are credentials for a day. The first key encrypts,
 * every key decrypts.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type DataConverter,
  defaultPayloadConverter,
  type Payload,
  type PayloadCodec,
  type SerializationContext,
} from '@temporalio/common';
import protos from '@temporalio/proto';
import { z } from 'zod';
import type { Settings } from '../config/settings.ts';
import { dataFolder } from '../files/data-folder.ts';
import { createDurably, makeFolder } from '../files/durable-files.ts';
import { readIfThere } from '../files/files.ts';
import { UNENCRYPTED } from '../wire/names.ts';
import { TemporalError } from './errors.ts';

export interface EncryptionKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** The worker and the workflow bundler load this module by its path. */
export const FAILURE_CONVERTER_PATH = fileURLToPath(new URL('./failure-converter.cjs', import.meta.url));

const ENCODING = 'binary/encrypted';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export interface CodecOptions {
  /**
   * How an unencrypted payload is handled (ADR 3). `replace` is for workers: a workflow task that throws on a payload
   * in history would fail forever.
   */
  readonly unencrypted?: 'throw' | 'replace';
  /** Called for a payload that cannot be read; it must not throw. */
  readonly onProblem?: (problem: PayloadProblem) => void;
}

export interface PayloadProblem {
  readonly kind: 'unencrypted' | 'undecryptable';
  readonly target: string;
  readonly message: string;
}

export function createDataConverter(
  keys: readonly EncryptionKey[],
  options: CodecOptions = {},
): DataConverter {
  return { payloadCodecs: [createCodec(keys, options)], failureConverterPath: FAILURE_CONVERTER_PATH };
}

export function createCodec(
  keys: readonly EncryptionKey[],
  { unencrypted = 'throw', onProblem }: CodecOptions = {},
): PayloadCodec {
  const [current] = keys;
  if (current === undefined) throw new Error('A codec needs at least one key.');
  for (const { id, key } of keys) {
    if (key.length !== 32) throw new Error(`The encryption key "${id}" has ${key.length} bytes, not 32.`);
  }
  const byId = new Map(keys.map((key) => [key.id, key.key]));

  function decode(payload: Payload, context: SerializationContext | undefined): Payload {
    const workflowId = context?.workflowId;
    const target = workflowId === undefined ? 'an unknown workflow' : `the workflow ${workflowId}`;
    if (text(payload.metadata?.encoding) !== ENCODING) {
      const error = new TemporalError('unencrypted-payload', [target]);
      onProblem?.({ kind: 'unencrypted', target, message: error.message });
      // A payload without a context is the memo of a listed schedule. The list has schedules of other programs, so an unencrypted
      // memo is replaced instead of failing the list.
      if (unencrypted === 'throw' && context !== undefined) throw error;
      return replacement;
    }
    try {
      return decrypt(payload, byId);
    } catch (error) {
      onProblem?.({ kind: 'undecryptable', target, message: (error as Error).message });
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

/** Throws where a key does not match, so that the task fails and continues once the right key is configured. */
function decrypt(payload: Payload, keys: ReadonlyMap<string, Uint8Array>): Payload {
  const id = text(payload.metadata?.['encryption-key-id']);
  const key = keys.get(id);
  if (key === undefined) throw new TemporalError('unknown-encryption-key', [id, [...keys.keys()].join(', ')]);
  try {
    const data = Buffer.from(payload.data ?? []);
    const nonce = data.subarray(0, NONCE_BYTES);
    // The length of the tag is given, because a tag of four bytes would be accepted otherwise.
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(data.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const plain = Buffer.concat([decipher.update(data.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return protos.temporal.api.common.v1.Payload.decode(plain);
  } catch (error) {
    throw new TemporalError('undecryptable-payload', [id], { cause: error });
  }
}

function text(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes).toString('utf8') : '';
}

/**
 * Without configured keys, the data folder's own key, which is created while Temporal is on this machine. @throws
 * encryption-key-missing
 */
export async function encryptionKeys(
  settings: Pick<Settings, 'dataDir' | 'encryptionKeys'>,
  temporal: { readonly isLocal: boolean },
): Promise<readonly EncryptionKey[]> {
  if (settings.encryptionKeys.length > 0) return settings.encryptionKeys;
  const path = join(dataFolder(settings.dataDir).keys, 'payload.key');
  const existing = await readKeys(path);
  if (existing !== null) return existing;
  if (!temporal.isLocal) throw new TemporalError('encryption-key-missing');
  // When several processes start at once, one creates the file and all read the same key.
  await makeFolder(dirname(path));
  await createDurably(
    path,
    `local-${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}\n`,
  );
  const created = await readKeys(path);
  if (created === null) throw new Error(`${path} vanished while it was being created.`);
  return created;
}

async function readKeys(path: string): Promise<readonly EncryptionKey[] | null> {
  const content = await readIfThere(path);
  if (content === null) return null;
  const lines = content
    .toString()
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => {
    const colon = line.indexOf(':');
    return { id: line.slice(0, colon), key: Buffer.from(line.slice(colon + 1), 'base64') };
  });
}

const RemoteMessage = z.object({
  payloads: z.array(
    z.object({
      metadata: z.record(z.string(), z.base64()).optional(),
      data: z.base64().nullish(),
    }),
  ),
});

export type RemotePayloads = z.infer<typeof RemoteMessage>;

/**
 * A payload that cannot be decrypted is returned unchanged: one page shows payloads of several ages and authors.
 * null: `message` is not a remote codec message.
 */
export async function decodeRemotePayloads(
  keys: readonly EncryptionKey[],
  message: unknown,
): Promise<RemotePayloads | null> {
  const parsed = RemoteMessage.safeParse(message);
  if (!parsed.success) return null;
  const codec = createCodec(keys);
  const payloads = parsed.data.payloads.map(async (remote) => {
    const { metadata = {}, data } = remote;
    const payload = { metadata: mapValues(metadata, fromBase64), data: fromBase64(data ?? '') };
    // A context is given, so that an unencrypted payload is an error and is not replaced.
    const [decoded] = await codec.decode([payload], ANY_WORKFLOW).catch(() => [payload]);
    if (decoded === undefined || decoded === payload) return remote;
    return {
      metadata: mapValues(decoded.metadata ?? {}, toBase64),
      data: toBase64(decoded.data ?? new Uint8Array()),
    };
  });
  return { payloads: await Promise.all(payloads) };
}

const ANY_WORKFLOW = { type: 'workflow', namespace: '', workflowId: '' } as const;

const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64');
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]));
}
