/** Rebuilds the description of a file from its bytes, which determine all of it. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import { CsvScanner } from '../lib/wire/csv-scanner.ts';

/** What lies beside a file in the archive: hash, size in bytes, scan. */
export async function describeFile(path: string): Promise<ArchivedFile> {
  const [hash, scanner] = [createHash('sha256'), new CsvScanner()];
  let sizeBytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    scanner.push(chunk);
    sizeBytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), sizeBytes, scan: scanner.end() };
}
