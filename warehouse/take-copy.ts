/**
 * Begins to copy and scan a person's file, while its caller opens the warehouse or loads the file before.
 *
 * A large file is read in a thread of its own: reading modules and opening a warehouse keep the first thread busy for
 * as long as the scan of a million rows does, and in a worker events are answered meanwhile.
 */

import { mkdirSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ArchivedFile } from '../contract/csv-file.js';
import { temporaryName } from '../ops/durable-files.js';
import { copyAndScan } from './copy-and-scan.js';

export interface Copy {
  readonly path: string;
  readonly file: ArchivedFile;
}

export interface CopyBegun {
  /** @throws the system's error (`ENOENT`, `ENOSPC`, …) */
  readonly taken: Promise<Copy>;
  /** Ends what still runs and removes the copy, unless it was moved away. May be called again. */
  discard(): Promise<void>;
}

/** Below this a thread takes longer to start than the file to be read. */
const THREAD_FROM_BYTES = 4 << 20;

/** @param dataDir the copy lies in its `tmp`, from where the archive can take it by a rename */
export function takeCopy(dataDir: string, from: string): CopyBegun {
  const folder = join(dataDir, 'tmp');
  const path = temporaryName(folder);
  let thread: Worker | null = null;
  const take = async (): Promise<Copy> => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (statSync(from).size < THREAD_FROM_BYTES) return { path, file: copyAndScan(from, path) };
    thread = startThread(from, path);
    return { path, file: await answerOf(thread) };
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

/** A thread does not inherit the loader that compiles TypeScript: in a checkout it is given one. */
function startThread(from: string, to: string): Worker {
  const workerData = { from, to };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./copy-thread.js', import.meta.url), { workerData });
  }
  const loader = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  const source = JSON.stringify(new URL('./copy-thread.ts', import.meta.url).href);
  const program = `import(${loader}).then(({ register }) => { register(); return import(${source}); });`;
  return new Worker(program, { eval: true, workerData });
}

function answerOf(thread: Worker): Promise<ArchivedFile> {
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    // After an answer this changes nothing.
    thread.once('exit', () => reject(new Error('The thread that copies a file ended without an answer.')));
  });
}
