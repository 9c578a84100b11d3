/** A download on its way: one file per attempt, so that an attempt nobody cancelled cannot write into the next one's. */

import { type FileHandle, open, readdir, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import {
  isRunning,
  makeFolder,
  removeIfThere,
  syncHandle,
  systemCode,
  temporaryName,
  temporaryPid,
} from '../ops/durable-files.js';
import { DiskFullError } from './errors.js';

/** Room that must remain beside a download. */
const RESERVED_BYTES = 64 * 1024 * 1024;

/** Part files of this process that are in use. */
const inUse = new Set<string>();

export interface PartFile {
  readonly path: string;
  /** One at a time; the bytes must stay as they are until it is done. */
  write(bytes: Uint8Array): Promise<void>;
  /** Everything on disk, the file closed. */
  finish(): Promise<void>;
  /** Nothing remains; harmless after `finish` when the file was moved away. */
  discard(): Promise<void>;
}

/**
 * @param expectedBytes null when nobody announced a size
 * @throws DiskFullError before the first byte when the disk cannot take it
 */
export async function createPartFile(folder: string, expectedBytes: number | null): Promise<PartFile> {
  await makeFolder(folder);
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < (expectedBytes ?? 0) + RESERVED_BYTES) throw new DiskFullError(folder);
  const path = temporaryName(folder);
  inUse.add(path);
  const handle = await open(path, 'wx', 0o600);
  let isOpen = true;

  async function close(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await handle.close();
  }

  return {
    path,
    write: (bytes) => writeAll(handle, bytes, folder),
    async finish() {
      await syncHandle(handle, path);
      await close();
    },
    async discard() {
      await close();
      await removeIfThere(path);
      inUse.delete(path);
    },
  };
}

/** Removes what attempts of dead processes left behind; in a container the dead one often had our own pid. */
export async function sweepPartFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  for (const name of names) {
    const path = join(folder, name);
    const pid = temporaryPid(name);
    const isLeftBehind = pid !== null && (pid === process.pid ? !inUse.has(path) : !isRunning(pid));
    if (isLeftBehind) await removeIfThere(path);
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, folder: string): Promise<void> {
  try {
    for (let written = 0; written < bytes.length; ) {
      written += (await handle.write(bytes, written)).bytesWritten;
    }
  } catch (error) {
    if (systemCode(error) === 'ENOSPC' || systemCode(error) === 'EDQUOT')
      throw new DiskFullError(folder, error);
    throw error;
  }
}
