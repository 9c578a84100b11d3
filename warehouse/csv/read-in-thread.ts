/** The contents are untrusted and the process also receives deliveries: a file that is not small is read in a thread with limits. */

import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createSemaphore } from '../../lib/semaphore.ts';
import { type Read, type Reading, readNow } from './read-csv.ts';

export interface ReadingStopped {
  /** Why the search was stopped, as part of a sentence: `it took longer than 60 s`. */
  readonly stopped: string;
}

export interface ReadingLimits {
  /** A smaller file is read before a thread would have started. */
  readonly threadFromBytes: number;
  readonly timeMs: number;
  readonly memoryMb: number;
}

const LIMITS: ReadingLimits = { threadFromBytes: 256 << 10, timeMs: 60_000, memoryMb: 256 };

export function limitsBySize(sizeBytes: number): Pick<ReadingLimits, 'timeMs'> {
  return { timeMs: LIMITS.timeMs + Math.ceil(sizeBytes / MIN_BYTES_PER_MS) };
}

/** The search may be this slow; csv-parse is twenty times as fast. */
const MIN_BYTES_PER_MS = 1_000;

const inTurn = createSemaphore(1);

export async function readBounded(
  reading: Reading,
  limits: Partial<ReadingLimits> = {},
): Promise<Read | ReadingStopped> {
  const { threadFromBytes, timeMs, memoryMb } = { ...LIMITS, ...limits };
  if ((await stat(reading.csvPath)).size < threadFromBytes) return readNow(reading);
  return inTurn(() => readInThread(reading, { timeMs, memoryMb }));
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
      thread.once('exit', () => reject(new Error('The thread that reads a file ended without a result.')));
    });
  } finally {
    clearTimeout(timer);
    await thread.terminate();
  }
}
