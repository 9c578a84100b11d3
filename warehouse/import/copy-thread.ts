import { parentPort, workerData } from 'node:worker_threads';
import { type CopyMessage, copyPrivately, scanCopy } from './take-copy.ts';

const { from, to } = workerData as { readonly from: string; readonly to: string };
const send = (message: CopyMessage): void => parentPort?.postMessage(message);
copyPrivately(from, to);
send('copied');
send(scanCopy(to));
