/** Tells what the cost rules find and is killed before it is noted. Arguments: data folder, published file, instant. */

import { lookAsWorker } from './look-as-worker.ts';

const [folder = '', databasePath = '', at = ''] = process.argv.slice(2);
// Findings are noted when all rules were asked, and there are more than those of the first.
await lookAsWorker(folder, databasePath, new Date(at), () => process.kill(process.pid, 'SIGKILL'));
