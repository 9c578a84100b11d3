/** Supervises an embedded server until it is killed; ends it on SIGTERM. The argument is the data folder. */

import { pino } from 'pino';
import { startEmbeddedTemporal } from '../../../lib/temporal/embedded.ts';

const [dataDir = ''] = process.argv.slice(2);
const server = await startEmbeddedTemporal({ dataDir, log: pino({ level: 'silent' }) });
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)));
