/**
 * Asks for room on the disk before DuckDB writes: one that runs full in the middle of a checkpoint cannot go on, and its
 * process, with the endpoint in it, would end. What is left below our reserve is for deliveries, which cannot wait.
 */

import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { NoRoomError } from './errors.js';

/** Above what a checkpoint writes at once, which DuckDB makes when its log has 16 MB. */
const RESERVED_BYTES = 32 * 1024 * 1024;

/** @throws NoRoomError `needBytes` would leave less than our reserve */
export async function requireRoom(database: string, needBytes = 0): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(database));
  const freeBytes = bavail * bsize;
  if (freeBytes < needBytes + RESERVED_BYTES)
    throw new NoRoomError(dirname(database), { freeBytes, needBytes: needBytes + RESERVED_BYTES });
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
