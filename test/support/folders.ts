/** Special folders and disks for tests. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { temporaryName } from '../../lib/files/files.ts';

const IN_MEMORY = '/dev/shm';

/** A new folder of a test file; enter-environment.ts removes it after the file. */
export function testFolder(): string {
  return mkdtempSync(join(tmpdir(), 'billsync-'));
}

/** A new folder in memory where the system has one, for thousands of small files; the caller removes it. */
export function makeMemoryFolder(prefix: string): Promise<string> {
  return mkdtemp(join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), prefix));
}

/** Mounts a small tmpfs; needs root. */
export function mountSmallDisk(folder: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'billsync-disk', folder]);
}

/** Changes the size of a small disk so that `bytes` are free. */
export function leaveFree(disk: string, bytes: number): void {
  const { blocks, bfree, bsize } = statfsSync(disk);
  execFileSync('mount', ['-o', `remount,size=${(blocks - bfree) * bsize + bytes}`, disk]);
}

/** The name that `temporaryName` gives in another process of this machine. @param unique 16 hexadecimal digits */
export function temporaryNameOf(pid: number, unique: string): string {
  const [host = ''] = basename(temporaryName('')).slice(1).split('-');
  return `.${host}-${pid}-${unique}.tmp`;
}
