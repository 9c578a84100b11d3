/**
 * Begins to copy and scan a person's file, while its caller opens the warehouse or loads the file before.
 *
 * A large file is read in a thread of its own: reading modules and opening a warehouse keep the first thread busy for
 * as long as the scan of a million rows does, and in a worker events are answered meanwhile.
 */

import { mkdirSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { syncHandle } from '../../lib/files/durable-files.ts';
import { temporaryName } from '../../lib/files/files.ts';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { copyPrivately, scanCopy } from './copy-and-scan.ts';
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
