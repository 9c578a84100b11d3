/**
 * Where the folders of test files lie: in memory, where this system has room for them and nobody set TMPDIR.
 *
 * A warehouse, an archive and a Temporal server flush with every step, and on a disk shared by three test files that is waited
 * for: 82 tests of the warehouse took 36 s of processor time instead of 38, and a fifth less time by the clock. A flush means
 * nothing to a process that is killed, which is what tests do; whether one is asked for is tested where it is asked for.
 */

import { readdirSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../../lib/processes.ts';

const IN_MEMORY = '/dev/shm';
/** A run has never had 1 GB there at a time. */
const MIN_ROOM_BYTES = 4e9;
const MIN_MEMORY_BYTES = 10e9;

const NO_RUN_TAKES_MS = 7_200_000;

/** Short: sockets lie in these folders, and the path of one may have about a hundred characters. */
export function folderPrefix(runPid: number): string {
  return `bt-${runPid}-`;
}

export function rootOfFolders(): string {
  return process.env.TMPDIR === undefined && hasRoomInMemory() ? IN_MEMORY : tmpdir();
}

/** Folders of a run that lie there now. */
export function foldersOf(runPid: number): readonly string[] {
  return [...new Set([tmpdir(), IN_MEMORY])].flatMap((root) =>
    namesIn(root)
      .filter((name) => name.startsWith(folderPrefix(runPid)))
      .map((name) => join(root, name)),
  );
}

/**
 * What runs left that were killed: on a disk nobody misses the room, of the memory they keep a part. Another container may share
 * the memory and not the numbers of processes, so what is younger than any run stays.
 */
export function removeLeftInMemory(): void {
  for (const name of namesIn(IN_MEMORY)) {
    const runPid = Number(/^bt-(\d+)-/.exec(name)?.[1]);
    const path = join(IN_MEMORY, name);
    if (runPid > 0 && !isAlive(runPid) && ageMs(path) > NO_RUN_TAKES_MS) {
      rmSync(path, { recursive: true, force: true });
    }
  }
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
