/** A small tmpfs whose size follows what lies on it, so that it can be as full as a test wants. Only root may mount. */

import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';

export function mountSmallDisk(folder: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'billsync-disk', folder]);
}

/** Makes the disk as large as what lies on it, and so much more. */
export function leaveFree(disk: string, bytes: number): void {
  const { blocks, bfree, bsize } = statfsSync(disk);
  execFileSync('mount', ['-o', `remount,size=${(blocks - bfree) * bsize + bytes}`, disk]);
}
