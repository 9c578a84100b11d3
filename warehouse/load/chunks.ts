/**
 * Splits a large file at the offsets of the byte scan. DuckDB guesses where a record begins, which a line break in quotes may
 * defeat, and numbers rows in the order of the file on one thread only (ADR 16).
 */

import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryName } from '../../lib/files/files.ts';
import type { Rejection } from '../../lib/warehouse-requests.ts';
import {
  type ArchivedFile,
  type CsvScan,
  type CsvTolerance,
  hasAllColumns,
} from '../../lib/wire/csv-file.ts';
import { limitsBySize, readBounded } from '../csv/read-in-thread.ts';
import { type FileLoad, rejected, rejectedFor } from './rejections.ts';

export interface Chunks {
  readonly folder: string;
  readonly count: number;
  discard(): Promise<void>;
}

/** A range of bytes, without the one at `end`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

const BLOCK_BYTES = 1 << 20;

/**
 * With the header each: DuckDB takes the first line end as that of all lines, and that of a record may be inside quotes.
 * @throws the system's error (`ENOSPC`, …); the folder is removed then
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

/** Defines `row_of(chunk)`, the next row number, and `last_rows()`; nextval takes only a literal name. */
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

export interface ToleratedFile {
  readonly chunks: Chunks;
  readonly scan: CsvScan;
}

export type Tolerating = Pick<FileLoad, 'csvPath' | 'invoiceId' | 'recordsPerCut'> & {
  readonly file: Pick<FileLoad['file'], 'sizeBytes' | 'scan'>;
};

/**
 * The file itself decides which tolerances apply, so that a load is repeated and verified under all of them.
 * @returns null: the tolerances do not cover its columns @throws the system's error; the folder is removed then
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
    if ('stopped' in read) return rejectedFor('unexplained', `reading it was stopped, ${read.stopped}`);
    if (read.scan === null) return null;
    if (read.broken.findingCount > 0) return rejected(read.broken);
    isKept = true;
    return { chunks: { folder, count: read.chunks, discard }, scan: read.scan };
  } finally {
    if (!isKept) await discard();
  }
}
