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
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { flushBytes } from '../../lib/files/durable-files.ts';
import { temporaryName } from '../../lib/files/files.ts';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../lib/wire/csv-scanner.ts';

export interface Copy {
  /** Path of the copy, which is hashed and scanned because the original may still be written to. */
  readonly path: string;
  readonly file: ArchivedFile;
}

export interface CopyBegun {
  /** @throws the system's error (`ENOENT`, `ENOSPC`, …), FsyncError */
  readonly taken: Promise<Copy>;
  /** Ends the thread and removes the copy, unless it was moved away. May be called again. */
  discard(): Promise<void>;
}

export type CopyMessage = 'copied' | ArchivedFile;

export const THREAD_FROM_BYTES = 4 << 20;

/** @param dataDir the copy is made in its `tmp`, so that the archive takes it with a rename */
export function takeCopy(dataDir: string, from: string): CopyBegun {
  const folder = dataFolder(dataDir).temporary;
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
    return { path, file: await scannedBy(thread, () => flush(path)) };
  };
  const taken = take();
  // The handler prevents an unhandled rejection, since the caller may await the result only later.
  taken.catch(() => undefined);
  return {
    taken,
    async discard() {
      await thread?.terminate();
      await rm(path, { force: true });
    },
  };
}

/** Copies a file, with a reflink where the file system can. @param to must not exist */
export function copyPrivately(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  // copyFile also copies the mode, which may be readable by others or not writable.
  chmodSync(to, 0o600);
}

/** A chunk is small enough to stay in the processor's cache between hash and scan. */
const CHUNK_BYTES = 1 << 18;

/**
 * The scan is synchronous, uses one buffer and loads none of the archive's modules, which saves a tenth of the import of a large
 * file.
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

/** The copy is flushed while it is scanned, so that the archive's own flush is short. */
async function flush(path: string): Promise<void> {
  const copy = await open(path, 'r+');
  try {
    await flushBytes(copy.fd, path);
  } finally {
    await copy.close();
  }
}

async function scannedBy(thread: Worker, onCopied: () => Promise<void>): Promise<ArchivedFile> {
  let flushed: Promise<void> = Promise.resolve();
  const file = await new Promise<ArchivedFile>((resolve, reject) => {
    thread.on('message', (message: CopyMessage) => {
      if (message !== 'copied') return resolve(message);
      flushed = onCopied();
      flushed.catch(() => undefined);
    });
    thread.once('error', reject);
    thread.once('exit', () => reject(new Error('The thread that copies a file ended without a result.')));
  });
  await flushed;
  return file;
}
