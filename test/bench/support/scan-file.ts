import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import type { ArchivedFile } from '../../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../../lib/wire/csv-scanner.ts';

export async function scanFile(csvPath: string): Promise<void> {
  const [scanner, hash] = [new CsvScanner(), createHash('sha256')];
  let sizeBytes = 0;
  for await (const chunk of createReadStream(csvPath, { highWaterMark: 1 << 18 }) as AsyncIterable<Buffer>) {
    scanner.push(chunk);
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  const file: ArchivedFile = { sha256: hash.digest('hex'), sizeBytes, scan: scanner.end() };
  await writeFile(`${csvPath}.json`, JSON.stringify(file));
}

export async function scannedFile(csvPath: string): Promise<ArchivedFile> {
  return JSON.parse(await readFile(`${csvPath}.json`, 'utf8')) as ArchivedFile;
}
