/** Looks for planted secrets in bytes, in every spelling in which a program could have let them out. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** @returns the secrets that are in there, plain or in a spelling of them */
export function findSecrets(bytes: Buffer, secrets: readonly string[]): readonly string[] {
  return secrets.filter((secret) => spellingsOf(secret).some((spelling) => bytes.includes(spelling)));
}

/** Absolute paths of all files below a folder; a file that vanishes meanwhile is not there. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Plain, escaped in JSON, in a URL, in a form, and in base64 at each of its three alignments. */
function spellingsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((shift) => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first characters and the last one depend on the neighbours.
    return shifted.slice(shift === 0 ? 0 : shift + 1, -2);
  });
  const form = new URLSearchParams({ s: secret }).toString().slice(2);
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), form, ...base64];
}
