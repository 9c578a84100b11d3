/** The thread of `take-copy.ts`: copies and scans one file, answers what it found, ends. */

import { parentPort, workerData } from 'node:worker_threads';
import { copyAndScan } from './copy-and-scan.js';

const { from, to } = workerData as { readonly from: string; readonly to: string };
parentPort?.postMessage(copyAndScan(from, to));
