/**
 * The folders of test files: in memory where the system has room and TMPDIR is not set, since a warehouse, an archive and a Temporal
 * server flush with every step. As a global set-up it fails the run when a folder is left at the end, and ends the processes that
 * still use it.
 */

import { readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../../lib/processes.ts';

const IN_MEMORY = '/dev/shm';
/** A run uses less than 1 GB there. */
const MIN_ROOM_BYTES = 4e9;
const MIN_MEMORY_BYTES = 10e9;
/** Longer than any run. */
const MAX_RUN_MS = 7_200_000;

/** Short, because the path of a socket may have about a hundred characters. */
export function folderPrefix(runPid: number): string {
  return `bt-${runPid}-`;
}

export function rootOfFolders(): string {
  return process.env.TMPDIR === undefined && hasRoomInMemory() ? IN_MEMORY : tmpdir();
}

export function setup(): () => void {
  removeOldFoldersInMemory();
  return () => {
    const left = foldersOf(process.pid);
    if (left.length === 0) return;
    process.exitCode = 1;
    const ended = endProcessesIn(left);
    process.stderr.write(
      `${left.length} folders of test files were left: ${left.join(', ')}; ${ended} processes used them\n`,
    );
  };
}

function foldersOf(runPid: number): readonly string[] {
  return [...new Set([tmpdir(), IN_MEMORY])].flatMap((root) =>
    namesIn(root)
      .filter((name) => name.startsWith(folderPrefix(runPid)))
      .map((name) => join(root, name)),
  );
}

/**
 * Removes the folders of killed runs from memory. Another container may share the memory but not the process ids, so younger folders
 * stay.
 */
function removeOldFoldersInMemory(): void {
  for (const name of namesIn(IN_MEMORY)) {
    const runPid = Number(/^bt-(\d+)-/.exec(name)?.[1]);
    const path = join(IN_MEMORY, name);
    if (runPid > 0 && !isAlive(runPid) && ageMs(path) > MAX_RUN_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

/** Kills the processes whose TMPDIR is one of these folders (Linux only). @returns how many */
function endProcessesIn(folders: readonly string[]): number {
  let ended = 0;
  for (const name of process.platform === 'linux' ? readdirSync('/proc') : []) {
    const pid = Number(name);
    if (!(pid > 0) || pid === process.pid) continue;
    try {
      const environment = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
      if (!folders.some((folder) => environment.includes(`TMPDIR=${folder}`))) continue;
      process.kill(pid, 'SIGKILL');
      ended += 1;
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return ended;
}

function hasRoomInMemory(): boolean {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .find(([, folder]) => folder === IN_MEMORY);
    // Tests start programs there, too.
    if (mount?.[2] !== 'tmpfs' || mount[3]?.split(',').includes('noexec')) return false;
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= MIN_ROOM_BYTES && process.availableMemory() >= MIN_MEMORY_BYTES;
  } catch {
    return false;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function ageMs(path: string): number {
  const { mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
  return Date.now() - mtimeMs;
}
