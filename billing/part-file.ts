/** A download on its way: one file per attempt, so that an attempt nobody cancelled cannot write into the next one's. */

import { close, closeSync, existsSync, openSync, statfsSync, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import { makeFolder, removeIfThere } from '../lib/files/durable-files.ts';
import { temporaryName } from '../lib/files/files.ts';
import { systemCode } from '../lib/system-errors.ts';
import { DiskFullError } from './errors.ts';

/** Room that must remain beside a download. */
const RESERVED_BYTES = 64 * 1024 * 1024;
/** A call to one of Node's threads takes more processor time than such a write into the page cache. */
const DIRECT_BYTES = 64 * 1024;

const writeByThread = promisify(write);
const closeByThread = promisify(close);

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
  const { bavail, bsize } = statfsSync(folder);
  const needed = (expectedBytes ?? 0) + RESERVED_BYTES;
  if (bavail * bsize < needed)
    throw new DiskFullError(folder, { freeBytes: bavail * bsize, needBytes: needed });
  const path = temporaryName(folder);
  const file = openSync(path, 'wx', 0o600);
  let isOpen = true;
  let isSmall = true;
  let underWay = Promise.resolve();

  async function finish(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    // A thread would write into whatever file gets the number next.
    await underWay.catch(() => undefined);
    // Over a network, closing sends what was written.
    if (isSmall) closeSync(file);
    else await closeByThread(file);
  }

  return {
    path,
    write(bytes) {
      isSmall &&= bytes.length <= DIRECT_BYTES;
      underWay = writeAll(file, bytes, { folder, isSmall });
      return underWay;
    },
    finish,
    async discard() {
      await finish();
      // Whoever keeps the file has moved it.
      if (existsSync(path)) await removeIfThere(path);
    },
  };
}

async function writeAll(
  file: number,
  bytes: Uint8Array,
  { folder, isSmall }: { readonly folder: string; readonly isSmall: boolean },
): Promise<void> {
  try {
    for (let written = 0; written < bytes.length; ) {
      written += isSmall
        ? writeSync(file, bytes, written)
        : (await writeByThread(file, bytes, written)).bytesWritten;
    }
  } catch (error) {
    if (systemCode(error) === 'ENOSPC' || systemCode(error) === 'EDQUOT')
      throw new DiskFullError(folder, null, error);
    throw error;
  }
}
