/** Sends a statement and is killed the moment it is kept, before a file of it is written. Arguments: published file, folder, month. */

import { makeStatements } from '../../../finance/statements/make-statements.ts';

const [databasePath = '', dataDir = '', period = ''] = process.argv.slice(2);
await makeStatements(
  { databasePath, dataDir, timeLimitMs: 60_000, now: new Date() },
  { tenants: ['Acme'], partners: [], period, isFinal: true, withShipments: true },
  async () => void process.kill(process.pid, 'SIGKILL'),
);
