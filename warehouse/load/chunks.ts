/**
 * A large file as several, cut between its records where the byte scan says, so that all threads read it and yet each
 * row has its number: DuckDB reads each chunk by one thread from its beginning to its end, a sequence counts along.
 *
 * DuckDB can split a file by itself, but then it guesses where a record begins, which line breaks in quotes may defeat, and
 * nothing numbers the rows in the order of the file on more than one thread (ADR 16).
 */

import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryName } from '../../lib/files/files.ts';
import {
  type ArchivedFile,
  type CsvScan,
  type CsvTolerance,
  hasAllColumns,
} from '../../lib/wire/csv-file.ts';
import { limitsBySize, readBounded } from '../csv/read-in-thread.ts';
import type { Rejection } from '../warehouse.ts';
import { type FileLoad, rejected } from './file-load.ts';

export interface Chunks {
  /** Holds `0.csv`, `1.csv` and so on, each with the file's header. */
  readonly folder: string;
  readonly count: number;
  discard(): Promise<void>;
}

/** In bytes; `end` is not part of it. */
interface Range {
  readonly start: number;
  readonly end: number;
}

const BLOCK_BYTES = 1 << 20;

/**
 * Copies the file's chunks into a folder of their own. Each begins with the header: DuckDB takes the first line end that
 * it meets for that of all lines, and a record's may stand in quotes.
 *
 * @throws the system's error (`ENOSPC`, …), then nothing is left
 */
export async function cutIntoChunks(
  csvPath: string,
  { sizeBytes, scan }: Pick<ArchivedFile, 'sizeBytes' | 'scan'>,
  temporaryFolder: string,
): Promise<Chunks> {
  const { cuts } = scan;
  const folder = temporaryName(temporaryFolder);
  const discard = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const buffer = Buffer.allocUnsafe(BLOCK_BYTES);
  const csv = await open(csvPath);
  try {
    await mkdir(folder, { mode: 0o700 });
    for (const [number, start] of cuts.entries()) {
      const ranges = [
        { start: 0, end: cuts[0] ?? 0 },
        { start, end: cuts[number + 1] ?? sizeBytes },
      ];
      await copyRanges(csv, join(folder, `${number}.csv`), { ranges, buffer });
    }
  } catch (error) {
    await discard();
    throw error;
  } finally {
    await csv.close();
  }
  return { folder, count: cuts.length, discard };
}

async function copyRanges(
  from: FileHandle,
  toPath: string,
  { ranges, buffer }: { readonly ranges: readonly Range[]; readonly buffer: Buffer },
): Promise<void> {
  const to = await open(toPath, 'wx', 0o600);
  try {
    for (const { start, end } of ranges) {
      for (let at = start; at < end; ) {
        const { bytesRead } = await from.read(buffer, 0, Math.min(buffer.length, end - at), at);
        if (bytesRead === 0) throw new Error(`${toPath}: the file it is cut from ends at byte ${at}.`);
        await to.writeFile(buffer.subarray(0, bytesRead));
        at += bytesRead;
      }
    }
  } finally {
    await to.close();
  }
}

/**
 * What the connection needs before `numbered_chunks` is asked: `row_of(chunk)`, the next row's number, and
 * `last_rows()`, what it came to. As text, since nextval takes no name that is not written out.
 */
export function numberChunks(count: number, recordsPerCut: number): string {
  if (count === 0) return '';
  const numbers = Array.from({ length: count }, (_, number) => number);
  const sequences = numbers.map(
    (number) => `create or replace temp sequence row_of_chunk_${number} start ${number * recordsPerCut + 1};`,
  );
  const next = numbers.map((number) => `when ${number} then nextval('row_of_chunk_${number}')`);
  const last = numbers.map((number) => `currval('row_of_chunk_${number}')`);
  return [
    ...sequences,
    `create or replace temp macro row_of(chunk) as case chunk ${next.join(' ')} end;`,
    `create or replace temp macro last_rows() as [${last.join(', ')}];`,
  ].join('\n');
}

/*  * Reads a file that keeps the rules only with what the partner tolerates, and writes its rows in the specified form, so that
 * one way of loading, proving and verifying serves all. Nobody pays for it whose files are as specified. A file of an earlier
 * edition of the specification, which lacks columns of today, is read this way too, and needs no tolerance.
 *
 * Which tolerances a file needs, the file itself says: under more of them it reads no differently. So a load is repeated
 * and verified under all of them, whatever the setting has become since.
 */

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
