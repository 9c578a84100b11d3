/** Writes what a person asked for to the file that was named: all of it, or nothing when the disk is full. */

import { randomBytes } from 'node:crypto';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { naming } from '../config/system-error.ts';

/** A device or a pipe is written to as it is. @throws the system's error, which names the file */
export async function writeWhole(
  path: string,
  body: string | Uint8Array | AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const found = await stat(path).catch(() => null);
  if (found !== null && !found.isFile()) return await writeFile(path, body).catch(naming(path));
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  try {
    await writeFile(part, body).catch(naming(part));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => undefined);
    throw Object.assign(error as Error, { path });
  }
}
