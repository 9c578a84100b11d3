/**
 * Writes what is to be kept, flushes it, and gives it its names. What comes while others are being written goes into one file with all
 * that waits, which has the names of each (hard links): one flush, while of each name there is still only one.
 */

import { linkSync } from 'node:fs';
import { removeSmall, writeSynced } from '../../lib/files/durable-files.ts';
import { temporaryName } from '../../lib/files/files.ts';
import { GroupCommit } from '../../lib/group-commit.ts';
import { systemCode } from '../../lib/system-errors.ts';
import type { DurablePoint } from './durable-point.ts';
import { encodeTogether } from './inbox-entry.ts';

interface Part {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Who reads one of them reads all of them. */
const TOGETHER = { maxItems: 32, maxWeight: 128 * 1024, weigh: ({ bytes }: Part) => bytes.length };

/**
 * @returns a function that tells whether the name was free. The bytes are durable then; the name is with its folder's flush.
 * It throws FsyncError, or the system's error; one part that finds no room does not fail the others
 */
export function placeTogether(
  { temporaryFolder, pathOf }: { readonly temporaryFolder: string; readonly pathOf: (key: string) => string },
  durablePoint?: DurablePoint,
): (part: Part) => Promise<boolean> {
  const placing = new GroupCommit<Part, boolean | Error>(async (parts) => {
    const path = temporaryName(temporaryFolder);
    try {
      await writeSynced(path, encodeTogether(parts));
      durablePoint?.('D1');
      return parts.map(({ key }) => linkOnce(path, pathOf(key)));
    } finally {
      forget(path);
    }
  }, TOGETHER);
  return async (part) => {
    const isNew = await placing.do(part);
    if (isNew instanceof Error) throw isNew;
    return isNew;
  };
}

/** An error is an answer, since the others of the group have their names already. */
function linkOnce(from: string, to: string): boolean | Error {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return systemCode(error) === 'EEXIST' ? false : error;
  }
}

/** Who was kept is told so, also when the first name cannot be removed: what stays behind is removed at the next start. */
function forget(path: string): void {
  try {
    removeSmall(path);
  } catch {
    // The next start looks again.
  }
}
