/** A download on its way: one file per attempt, so that an attempt nobody cancelled cannot write into the next one's. */

import { type FileHandle, open, statfs } from 'node:fs/promises';
import { makeFolder, removeIfThere, systemCode } from '../ops/durable-files.js';
import { temporaryName } from '../ops/temporary-names.js';
import { DiskFullError } from './errors.js';

/** Room that must remain beside a download. */
const RESERVED_BYTES = 64 * 1024 * 1024;

export interface PartFile {
  readonly path: string;
  /** One at a time; the bytes must stay as they are until it is done. */
  write(bytes: Uint8Array): Promise<void>;
  /** Everything written, the file closed. Who keeps the file flushes it (`Archive.putFile`). */
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
  const needed = (expectedBytes ?? 0) + RESERVED_BYTES;
  if (bavail * bsize < needed)
    throw new DiskFullError(folder, { freeBytes: bavail * bsize, needBytes: needed });
  const path = temporaryName(folder);
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
    finish: close,
    async discard() {
      await close();
      await removeIfThere(path);
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, folder: string): Promise<void> {
  try {
    for (let written = 0; written < bytes.length; ) {
      written += (await handle.write(bytes, written)).bytesWritten;
    }
  } catch (error) {
    if (systemCode(error) === 'ENOSPC' || systemCode(error) === 'EDQUOT')
      throw new DiskFullError(folder, null, error);
    throw error;
  }
}
