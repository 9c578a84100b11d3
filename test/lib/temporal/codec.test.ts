import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { createCodec, encryptionKeys, type PayloadProblem } from '../../../lib/temporal/codec.ts';
import { isUnencrypted } from '../../../lib/wire/names.ts';
import { testFolder } from '../../support/folders.ts';

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
  test('leaves nothing readable', async () => {
    const encrypted = await first(createCodec([oldKey]).encode([payload(secret)]));
    const everything = JSON.stringify(encrypted) + Buffer.from(encrypted.data ?? []).toString('latin1');
    expect(everything).not.toContain('secret-of-the-url');
  });

  test('encrypts the same value differently each time', async () => {
    const codec = createCodec([oldKey]);
    const [one, two] = [await codec.encode([payload(1)]), await codec.encode([payload(1)])];
    expect(one[0]?.data).not.toEqual(two[0]?.data);
  });

  test('decrypts with every key and encrypts with the first', async () => {
    const value = { url: secret, nested: [1, null, 'é'] };
    const before = await createCodec([oldKey]).encode([payload(value)]);
    const rotated = createCodec([newKey, oldKey]);
    expect(defaultPayloadConverter.fromPayload(await first(rotated.decode(before)))).toEqual(value);
    const [after] = await rotated.encode([payload('new')]);
    expect(Buffer.from(after?.metadata?.['encryption-key-id'] ?? []).toString()).toBe('new');
  });

  test('fails for an unknown key', async () => {
    const before = await createCodec([oldKey]).encode([payload('kept')]);
    await expect(createCodec([newKey]).decode(before)).rejects.toMatchObject({
      code: 'unknown-encryption-key',
    });
  });

  test('refuses changed or truncated bytes and clear text that claims to be encrypted', async () => {
    const problems: PayloadProblem[] = [];
    const codec = createCodec([oldKey], {
      unencrypted: 'replace',
      onProblem: (problem) => problems.push(problem),
    });
    const encrypted = await first(codec.encode([payload('kept')]));
    const data = Buffer.from(encrypted.data ?? []);
    const changed = Buffer.from(data);
    changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
    for (const bytes of [
      changed,
      data.subarray(0, 20),
      data.subarray(0, 5),
      Buffer.alloc(0),
      payload('x').data,
    ]) {
      await expect(codec.decode([{ ...encrypted, data: bytes ?? null }])).rejects.toMatchObject({
        code: 'undecryptable-payload',
      });
    }
    expect(problems.map(({ kind }) => kind)).toEqual(Array(5).fill('undecryptable'));
  });

  const whose = { type: 'workflow', namespace: 'default', workflowId: 'invoice/1' } as const;

  test.each([
    ['JSON', payload({ eventType: 'invoice_voided' })],
    ['nothing', payload(undefined)],
    ['bytes', payload(new Uint8Array([1]))],
    ['a payload without any metadata', { data: Buffer.from('{}') }],
  ])('reads no clear text: %s', async (_what, plain) => {
    const problems: PayloadProblem[] = [];
    const onProblem = (problem: PayloadProblem) => void problems.push(problem);
    const throwing = createCodec([oldKey], { onProblem });
    await expect(throwing.decode([plain], whose)).rejects.toMatchObject({ code: 'unencrypted-payload' });
    const replacing = createCodec([oldKey], { unencrypted: 'replace', onProblem });
    const read = defaultPayloadConverter.fromPayload(await first(replacing.decode([plain], whose)));
    expect(isUnencrypted(read)).toBe(true);
    expect(problems.map(({ kind, target }) => `${kind} ${target}`)).toEqual(
      Array(2).fill('unencrypted the workflow invoice/1'),
    );
  });

  test('ignores the memo of a foreign schedule', async () => {
    const read = await first(createCodec([oldKey]).decode([payload('of another program')]));
    expect(isUnencrypted(defaultPayloadConverter.fromPayload(read))).toBe(true);
  });
});

const folder = testFolder();

const local = { isLocal: true };

describe('encryptionKeys', () => {
  test('creates one private key for all processes of the data folder', async () => {
    const settings = { dataDir: join(folder, 'shared'), encryptionKeys: [] };
    const all = await Promise.all(Array.from({ length: 8 }, () => encryptionKeys(settings, local)));
    expect(new Set(all.map(([key]) => Buffer.from(key?.key ?? []).toString('hex'))).size).toBe(1);
    expect(all[0]?.[0]?.key.length).toBe(32);
    expect((await stat(join(settings.dataDir, 'keys', 'payload.key'))).mode & 0o777).toBe(0o600);
  });

  test('requires a key when Temporal is remote', async () => {
    const settings = { dataDir: join(folder, 'elsewhere'), encryptionKeys: [] };
    await expect(encryptionKeys(settings, { isLocal: false })).rejects.toMatchObject({
      code: 'encryption-key-missing',
    });
  });
});
