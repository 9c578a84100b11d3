import { parentPort, workerData } from 'node:worker_threads';
import { describeFile } from '../../archive/records.ts';
import { type CopyMessage, copyPrivately } from './take-copy.ts';

const { from, to } = workerData as { readonly from: string; readonly to: string };
const send = (message: CopyMessage): void => parentPort?.postMessage(message);
copyPrivately(from, to);
send('copied');
send(await describeFile(to));
