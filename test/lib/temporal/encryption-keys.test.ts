/** Which key is used: the configured one, else the data folder's, and never a silent one of our own elsewhere. */

import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encryptionKeys } from '../../../lib/temporal/codec.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'billsync-keys-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

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
