/**
 * A write-ahead log beside a published file: publications have none, and DuckDB would apply it for every reader, so that one crafted
 * or left over changes what all reports show.
 */

import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { UnreadableFileError } from '../files/damaged-file.ts';
import { namesIn } from '../names-in.ts';

export class LeftWalError extends UnreadableFileError {
  readonly code = 'wal-beside-published-file';

  constructor(path: string) {
    super(path, `${path}.wal lies beside the published file; billsync writes none there and reads neither.`, {
      hint: '`billsync snapshot` removes it and publishes again; find out what wrote it',
      cause: null,
    });
  }
}

/** @throws LeftWalError */
export async function refuseLeftWal(path: string): Promise<void> {
  if (await hasLeftWal(path)) throw new LeftWalError(path);
}

/** Whether a write-ahead log lies beside the published file at `path`. */
async function hasLeftWal(path: string): Promise<boolean> {
  try {
    await lstat(`${path}.wal`);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Beside the published file and the copies that are kept in `snapshots/`. */
export async function leftWals(publishedPath: string): Promise<readonly string[]> {
  const folder = join(dirname(publishedPath), 'snapshots');
  const kept = (await namesIn(folder)).filter((name) => name.endsWith('.duckdb'));
  const left: string[] = [];
  for (const path of [publishedPath, ...kept.map((name) => join(folder, name))]) {
    if (await hasLeftWal(path)) left.push(`${path}.wal`);
  }
  return left;
}
