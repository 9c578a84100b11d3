/**
 * Reads a file that keeps the rules only with what the partner tolerates, and writes its rows in the specified form, so that
 * one way of loading, proving and verifying serves all. Nobody pays for it whose files are as specified. A file of an earlier
 * edition of the specification, which lacks columns of today, is read this way too, and needs no tolerance.
 *
 * Which tolerances a file needs, the file itself says: under more of them it reads no differently. So a load is repeated
 * and verified under all of them, whatever the setting has become since.
 */

import { mkdir, rm } from 'node:fs/promises';
import { temporaryName } from '../../lib/files/files.ts';
import { type CsvScan, type CsvTolerance, hasAllColumns } from '../../lib/wire/csv-file.ts';
import { limitsBySize, readBounded } from '../csv/read-in-thread.ts';
import type { Rejection } from '../warehouse.ts';
import type { Chunks } from './chunks.ts';
import type { FileLoad } from './file-load.ts';
import { rejected } from './refusal.ts';

export interface ToleratedFile {
  /** As `cutIntoChunks` makes them, with the added columns as JSON in one more. */
  readonly chunks: Chunks;
  /** Under the tolerances. */
  readonly scan: CsvScan;
}

export type Tolerating = Pick<FileLoad, 'csvPath' | 'invoiceId' | 'recordsPerCut'> & {
  readonly file: Pick<FileLoad['file'], 'sizeBytes' | 'scan'>;
};

/**
 * @returns null when the tolerances do not reach to the file's columns: it is refused for what the byte scan found
 * @throws the system's error (`ENOSPC`, …), then nothing is left
 */
export async function tolerate(
  { csvPath, invoiceId, file, recordsPerCut }: Tolerating,
  tolerances: readonly CsvTolerance[],
  temporaryFolder: string,
): Promise<ToleratedFile | Rejection | null> {
  if (tolerances.length === 0 && hasAllColumns(file.scan)) return null;
  const folder = temporaryName(temporaryFolder);
  const discard = (): Promise<void> => rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  let isKept = false;
  try {
    const reading = {
      ...{ csvPath, invoiceId, skipsRagged: false },
      tolerate: { tolerances, folder, recordsPerCut },
    };
    const read = await readBounded(reading, limitsBySize(file.sizeBytes));
    if ('stopped' in read) return rejected({ unexplained: `reading it was stopped, ${read.stopped}` });
    if (read.scan === null) return null;
    if (read.broken.findingCount > 0) return rejected(read.broken);
    isKept = true;
    return { chunks: { folder, count: read.chunks, discard }, scan: read.scan };
  } finally {
    if (!isKept) await discard();
  }
}
