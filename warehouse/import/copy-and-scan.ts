/** Makes a private copy of a person's CSV and reads that: its hash, its size, and what the byte scan says. */

import { createHash } from 'node:crypto';
import { chmodSync, closeSync, constants, copyFileSync, openSync, readSync } from 'node:fs';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../lib/wire/csv-scanner.ts';

/** Small enough to stay in the processor's cache between hash and scan. */
const CHUNK_BYTES = 1 << 18;

/** By the kernel, as a reflink where the file system can. @param to is made (0600) and must not be there yet */
export function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  // The kernel copies the mode as well, which may let others read it, or not even us write.
  chmodSync(to, 0o600);
}

/**
 * The copy is read, never the person's file, which somebody may still be writing: what is hashed here is what the
 * archive keeps and what DuckDB reads. One buffer for the whole file, by direct calls: the caller's thread does nothing
 * else meanwhile.
 */
export function scanCopy(path: string): ArchivedFile {
  const [hash, scanner] = [createHash('sha256'), new CsvScanner()];
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let sizeBytes = 0;
  const copy = openSync(path, 'r');
  try {
    for (let length = readSync(copy, buffer); length > 0; length = readSync(copy, buffer)) {
      const chunk = buffer.subarray(0, length);
      hash.update(chunk);
      scanner.push(chunk);
      sizeBytes += length;
    }
  } finally {
    closeSync(copy);
  }
  return { sha256: hash.digest('hex'), sizeBytes, scan: scanner.end() };
}
