/** Reads part of a file, such as what was appended to a journal since it was read last. */

import { closeSync, constants, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** So much is read directly, in microseconds; for more the caller's thread would stand still. */
const DIRECTLY_BYTES = 64 * 1024;

/**
 * @param range offsets in bytes; `end` is not part of it
 * @returns fewer bytes when the file ends before. @throws the system's error
 */
export async function readRange(
  path: string,
  { from, end }: { readonly from: number; readonly end: number },
): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, end - from));
  if (bytes.length === 0) return bytes;
  if (bytes.length > DIRECTLY_BYTES) {
    const handle = await open(path, constants.O_RDONLY);
    try {
      return bytes.subarray(0, (await handle.read(bytes, 0, bytes.length, from)).bytesRead);
    } finally {
      await handle.close();
    }
  }
  const file = openSync(path, constants.O_RDONLY);
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
}
