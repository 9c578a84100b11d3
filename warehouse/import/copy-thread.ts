/** The thread of `take-copy.ts`: copies one file, says so, scans the copy, says what it found, ends. */

import { parentPort, workerData } from 'node:worker_threads';
import type { ArchivedFile } from '../../lib/wire/csv-file.ts';
import { copyPrivately, scanCopy } from './take-copy.ts';

export type CopyMessage = 'copied' | ArchivedFile;

const { from, to } = workerData as { readonly from: string; readonly to: string };
const say = (message: CopyMessage): void => parentPort?.postMessage(message);
copyPrivately(from, to);
say('copied');
say(scanCopy(to));
