/** How much space the disk of a folder needs to have, for whoever writes there, the alert and `billsync doctor`. */

import { statfs } from 'node:fs/promises';

const MIB = 1024 ** 2;

/** With less free disk than this nothing is downloaded. */
export const RESERVED_BY_DOWNLOADS_BYTES = 64 * MIB;
/** Below this, nothing is loaded; the rest is left for deliveries. A checkpoint, which DuckDB starts when its log has 16 MB, writes less. */
export const RESERVED_BY_LOADS_BYTES = 32 * MIB;
/** A delivery takes up to four inodes. */
const MIN_FREE_INODES = 1_000;

export interface FreeSpace {
  readonly freeBytes: number;
  readonly sizeBytes: number;
  /** Why work stops, or soon will; null when there is enough free space. */
  readonly shortage: string | null;
}

export async function readFreeSpace(folder: string): Promise<FreeSpace> {
  const { bavail, blocks, bsize, files, ffree } = await statfs(folder);
  const space = { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
  // Some file systems have no fixed number of inodes, and report none.
  if (files > 0 && ffree < MIN_FREE_INODES) {
    const shortage = `${ffree} inodes are free at ${folder}: soon no file can be made, whatever space is free.`;
    return { ...space, shortage };
  }
  if (space.freeBytes >= RESERVED_BY_DOWNLOADS_BYTES) return { ...space, shortage: null };
  const free = `${Math.floor(space.freeBytes / MIB)} MiB are free at ${folder}`;
  return {
    ...space,
    shortage: `${free}; below ${RESERVED_BY_DOWNLOADS_BYTES / MIB} MiB nothing new is downloaded.`,
  };
}
