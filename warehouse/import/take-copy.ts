/**
 * Begins to copy and scan a person's file, while its caller opens the warehouse or loads the file before.
 *
 * A large file is read in a thread of its own: reading modules and opening a warehouse keep the first thread busy for
 * as long as the scan of a million rows does, and in a worker events are answered meanwhile.
 */

import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  mkdirSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { syncHandle } from '../../lib/files/durable-files.ts';
import { temporaryName } from '../../lib/files/files.ts';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../lib/wire/csv-scanner.ts';
import type { CopyMessage } from './copy-thread.ts';

export interface Copy {
  readonly path: string;
  readonly file: ArchivedFile;
}

export interface CopyBegun {
  /** @throws the system's error (`ENOENT`, `ENOSPC`, …), FsyncError */
  readonly taken: Promise<Copy>;
  /** Ends what still runs and removes the copy, unless it was moved away. May be called again. */
  discard(): Promise<void>;
}

/** Below this a thread takes longer to start than the file to be read. */
export const THREAD_FROM_BYTES = 4 << 20;

/** @param dataDir the copy lies in its `tmp`, from where the archive can take it by a rename */
export function takeCopy(dataDir: string, from: string): CopyBegun {
  const folder = join(dataDir, 'tmp');
  const path = temporaryName(folder);
  let thread: Worker | null = null;
  const take = async (): Promise<Copy> => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (statSync(from).size < THREAD_FROM_BYTES) {
      copyPrivately(from, path);
      return { path, file: scanCopy(path) };
    }
    const program = new URL(`./copy-thread${extname(import.meta.filename)}`, import.meta.url);
    thread = new Worker(program, { workerData: { from, to: path } });
    return { path, file: await answerOf(thread, () => flush(path)) };
  };
  const taken = take();
  // Whoever waits for it is told; until then nobody may be waiting yet.
  taken.catch(() => undefined);
  return {
    taken,
    async discard() {
      await thread?.terminate();
      await rm(path, { force: true });
    },
  };
}

/** The disk takes the copy while it is scanned, so the archive's own flush finds little left to wait for. */
async function flush(path: string): Promise<void> {
  const copy = await open(path, 'r+');
  try {
    await syncHandle(copy, path);
  } finally {
    await copy.close();
  }
}

async function answerOf(thread: Worker, onCopied: () => Promise<void>): Promise<ArchivedFile> {
  let copied: Promise<void> = Promise.resolve();
  const file = await new Promise<ArchivedFile>((resolve, reject) => {
    thread.on('message', (message: CopyMessage) => {
      if (message !== 'copied') return resolve(message);
      copied = onCopied();
      // It is waited for behind the answer.
      copied.catch(() => undefined);
    });
    thread.once('error', reject);
    // After an answer this changes nothing.
    thread.once('exit', () => reject(new Error('The thread that copies a file ended without an answer.')));
  });
  await copied;
  return file;
}

/* Makes a private copy of a person's CSV and reads that: its hash, its size, and what the byte scan says. */

/** Small enough to stay in the processor's cache between hash and scan. */
const CHUNK_BYTES = 1 << 18;

/** By the kernel, as a reflink where the file system can. @param to is made (0600) and must not be there yet */
export function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  // The kernel copies the mode as well, which may let others read it, or not even us write.
  chmodSync(to, 0o600);
}

/**
 * The copy is read, never the person's file, which somebody may still be writing: what is hashed here is what the
 * archive keeps and what DuckDB reads. One buffer for the whole file, by direct calls: the caller's thread does nothing
 * else meanwhile.
 */
export function scanCopy(path: string): ArchivedFile {
  const [hash, scanner] = [createHash('sha256'), new CsvScanner()];
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  let sizeBytes = 0;
  const copy = openSync(path, 'r');
  try {
    for (let length = readSync(copy, buffer); length > 0; length = readSync(copy, buffer)) {
      const chunk = buffer.subarray(0, length);
      hash.update(chunk);
      scanner.push(chunk);
      sizeBytes += length;
    }
  } finally {
    closeSync(copy);
  }
  return { sha256: hash.digest('hex'), sizeBytes, scan: scanner.end() };
}
