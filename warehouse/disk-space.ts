/**
 * Asks for room on the disk before DuckDB writes: one that runs full in the middle of a checkpoint cannot go on, and its
 * process, with the endpoint in it, would end. What is left below our reserve is for deliveries, which cannot wait.
 */

import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { NoDiskSpaceError } from './errors.ts';

/** Above what a checkpoint writes at once, which DuckDB makes when its log has 16 MB. */
export const RESERVED_BYTES = 32 * 1024 * 1024;

/** @throws NoDiskSpaceError fewer bytes are free */
export async function requireDiskSpace(database: string, needBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(database));
  const freeBytes = bavail * bsize;
  if (freeBytes < needBytes) throw new NoDiskSpaceError(dirname(database), { freeBytes, needBytes });
}

/** What a copy of the database takes, its log folded in. */
export async function sizeOf(database: string): Promise<number> {
  const sizes = await Promise.all(
    [database, `${database}.wal`].map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
