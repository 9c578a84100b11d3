/** The SHA-256 of a local file in lower-case hex, read in one pass. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

const BLOCK_BYTES = 1 << 20;

/** @returns the SHA-256 in lower-case hex */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  // For a small file, of which there are very many, a stream costs more than the reading.
  if ((await stat(path)).size <= BLOCK_BYTES) return hash.update(await readFile(path)).digest('hex');
  await pipeline(createReadStream(path, { highWaterMark: BLOCK_BYTES }), hash);
  return hash.digest('hex');
}
