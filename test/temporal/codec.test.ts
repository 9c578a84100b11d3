/** Nothing readable enters history, keys rotate, and a missing key is never worked around. */

import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { createCodec, UnknownEncryptionKeyError } from '../../temporal/codec.js';

const oldKey = { id: 'old', key: new Uint8Array(32).fill(1) };
const newKey = { id: 'new', key: new Uint8Array(32).fill(2) };
const secret = 'https://storage.example/a.csv?signature=secret-of-the-url';

function payload(value: unknown): Payload {
  return defaultPayloadConverter.toPayload(value);
}

async function first(payloads: Promise<Payload[]>): Promise<Payload> {
  const [only] = await payloads;
  if (only === undefined) throw new Error('no payload came back');
  return only;
}

describe('codec', () => {
  test('gives back what it encrypted', async () => {
    const codec = createCodec([oldKey]);
    const value = { url: secret, nested: [1, null, 'é'] };
    const decoded = await first(codec.decode(await codec.encode([payload(value)])));
    expect(defaultPayloadConverter.fromPayload(decoded)).toEqual(value);
  });

  test('leaves nothing of the value readable', async () => {
    const encrypted = await first(createCodec([oldKey]).encode([payload(secret)]));
    const everything = JSON.stringify(encrypted) + Buffer.from(encrypted.data ?? []).toString('latin1');
    expect(everything).not.toContain('secret-of-the-url');
  });

  test('encrypts the same value differently each time', async () => {
    const codec = createCodec([oldKey]);
    const [one, two] = [await codec.encode([payload(1)]), await codec.encode([payload(1)])];
    expect(one[0]?.data).not.toEqual(two[0]?.data);
  });

  test('reads with every key and writes with the first, so that keys can be rotated', async () => {
    const before = await createCodec([oldKey]).encode([payload('kept')]);
    const rotated = createCodec([newKey, oldKey]);
    expect(defaultPayloadConverter.fromPayload(await first(rotated.decode(before)))).toBe('kept');
    const [after] = await rotated.encode([payload('new')]);
    expect(Buffer.from(after?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('new');
  });

  test('fails closed when the key is unknown', async () => {
    const before = await createCodec([oldKey]).encode([payload('kept')]);
    await expect(createCodec([newKey]).decode(before)).rejects.toThrow(UnknownEncryptionKeyError);
  });

  test('refuses bytes that were changed', async () => {
    const codec = createCodec([oldKey]);
    const encrypted = await first(codec.encode([payload('kept')]));
    const data = Buffer.from(encrypted.data ?? []);
    data.writeUInt8(data.readUInt8(data.length - 1) ^ 1, data.length - 1);
    await expect(codec.decode([{ ...encrypted, data }])).rejects.toThrow();
  });

  test('lets payloads of others pass', async () => {
    const plain = payload('readable');
    expect(await createCodec([oldKey]).decode([plain])).toEqual([plain]);
  });
});
