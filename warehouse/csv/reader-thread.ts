import { parentPort, workerData } from 'node:worker_threads';
import { type Reading, readNow } from './read-csv.ts';

parentPort?.postMessage(await readNow(workerData as Reading));
