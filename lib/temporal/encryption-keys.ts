/** Decides which keys encrypt Temporal's payloads: the configured ones, or one made for the data folder. */

import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { createDurably, makeFolder } from '../files/durable-files.ts';
import { readIfThere } from '../files/files.ts';
import { BillsyncError, EXIT } from '../wire/errors.ts';
import type { EncryptionKey } from './codec.ts';

/** Temporal runs elsewhere and no key is configured: a key made here would be unknown to the other machines. */
export class EncryptionKeyMissingError extends BillsyncError {
  readonly code = 'encryption-key-missing';
  override readonly exitCode = EXIT.usage;

  constructor() {
    super(
      'BILLSYNC_ENCRYPTION_KEY is required when Temporal runs on another machine: `id:base64` of 32 bytes, the same for every process.',
    );
  }
}

/**
 * Configured keys win. Else the data folder's own key is used, and made when there is none, but only while Temporal
 * is on this machine (embedded, or a loopback address), so that every process beside the data folder shares it.
 *
 * @throws EncryptionKeyMissingError
 */
export async function encryptionKeys(
  settings: Pick<Settings, 'dataDir' | 'encryptionKeys'>,
  temporal: { readonly isLocal: boolean },
): Promise<readonly EncryptionKey[]> {
  if (settings.encryptionKeys.length > 0) return settings.encryptionKeys;
  const path = join(settings.dataDir, 'keys', 'payload.key');
  const known = await readKeys(path);
  if (known !== null) return known;
  if (!temporal.isLocal) throw new EncryptionKeyMissingError();
  await createKey(path);
  const created = await readKeys(path);
  if (created === null) throw new Error(`${path} vanished while it was being created.`);
  return created;
}

async function readKeys(path: string): Promise<readonly EncryptionKey[] | null> {
  const text = await readIfThere(path);
  if (text === null) return null;
  const lines = text
    .toString()
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => {
    const colon = line.indexOf(':');
    return { id: line.slice(0, colon), key: Buffer.from(line.slice(colon + 1), 'base64') };
  });
}

/** Linked into place whole, so of several processes that start at once one wins and all read the same key. */
async function createKey(path: string): Promise<void> {
  const line = `local-${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}\n`;
  await makeFolder(dirname(path));
  await createDurably(path, line);
}
