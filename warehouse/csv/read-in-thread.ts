/**
 * Has a file read by csv-parse with limits of time and memory: what is in it was written by others, and whoever reads it
 * here also answers deliveries, loads files and publishes.
 *
 * A small file is read at once, since it takes less than a thread does to start. Larger ones are read one after another,
 * each in a thread of its own that is ended when it takes too long or too much.
 */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { KeyedMutex } from '../duckdb/locks.ts';
import { type Read, type Reading, readNow } from './read-csv.ts';

/** Reading was stopped by its limits of time or memory; the file's contents remain unknown. */
export interface ReadingStopped {
  /** `it took longer than 60 s`, for a sentence. */
  readonly stopped: string;
}

export interface ReadingLimits {
  /** Below this no thread is started. */
  readonly threadFromBytes: number;
  readonly timeMs: number;
  readonly memoryMb: number;
}

const LIMITS: ReadingLimits = { threadFromBytes: 256 << 10, timeMs: 60_000, memoryMb: 256 };

/** For what is read to its end however large it is: a dry run, a file that is tolerated. */
export function limitsBySize(sizeBytes: number): Pick<ReadingLimits, 'timeMs'> {
  return { timeMs: LIMITS.timeMs + Math.ceil(sizeBytes / BYTES_A_MS_AT_LEAST) };
}

/** csv-parse reads twenty times as many. */
const BYTES_A_MS_AT_LEAST = 1_000;

const READER = 'reader';
/** One at a time, so that many bad files take no more memory than one. */
const readers = new KeyedMutex();

/** @throws the system's error (`ENOENT`, …) */
export async function readBounded(
  reading: Reading,
  limits: Partial<ReadingLimits> = {},
): Promise<Read | ReadingStopped> {
  const { threadFromBytes, timeMs, memoryMb } = { ...LIMITS, ...limits };
  if ((await stat(reading.csvPath)).size < threadFromBytes) return readNow(reading);
  return readers.run(READER, () => readInThread(reading, { timeMs, memoryMb }));
}

async function readInThread(
  reading: Reading,
  { timeMs, memoryMb }: Pick<ReadingLimits, 'timeMs' | 'memoryMb'>,
): Promise<Read | ReadingStopped> {
  const thread = new Worker(new URL(`./reader-thread${extname(import.meta.filename)}`, import.meta.url), {
    workerData: reading,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Read | ReadingStopped>((resolve, reject) => {
      timer = setTimeout(() => resolve({ stopped: `it took longer than ${timeMs / 1_000} s` }), timeMs);
      thread.once('message', resolve);
      thread.once('error', (error: NodeJS.ErrnoException) => {
        if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') {
          resolve({ stopped: `it took more than ${memoryMb} MB of memory` });
        } else reject(error);
      });
      // After an answer this changes nothing.
      thread.once('exit', () => reject(new Error('The thread that reads a file ended without an answer.')));
    });
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}
