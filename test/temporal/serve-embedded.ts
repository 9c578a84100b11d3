/** A process that looks after an embedded server until it is killed; its argument is the data folder. */

import { pino } from 'pino';
import { startEmbeddedTemporal } from '../../temporal/embedded.js';

const [dataDir = ''] = process.argv.slice(2);
await startEmbeddedTemporal({ dataDir, log: pino({ level: 'silent' }) });
