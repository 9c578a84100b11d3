/**
 * A write-ahead log beside a published file: publications have none, and DuckDB would apply it for every reader, so that one crafted
 * or left over changes what all reports show.
 */

import { lstat } from 'node:fs/promises';
import { UnreadableFileError } from './damaged-file.ts';

export class LeftWalError extends UnreadableFileError {
  readonly code = 'wal-beside-published-file';

  constructor(path: string) {
    super(path, `${path}.wal lies beside the published file; billsync writes none there and reads neither.`, {
      hint: '`billsync snapshot` removes it and publishes again; find out what wrote it',
      cause: null,
    });
  }
}

/** Where DuckDB writes what is committed and not yet in the file at `path`. */
export function walOf(path: string): string {
  return `${path}.wal`;
}

/** @throws LeftWalError */
export async function refuseLeftWal(path: string): Promise<void> {
  if (await hasLeftWal(path)) throw new LeftWalError(path);
}

/** Whether a write-ahead log lies beside the published file at `path`. */
export async function hasLeftWal(path: string): Promise<boolean> {
  try {
    await lstat(walOf(path));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
