/** A client of the embedded Temporal beside a data folder, for questions of tests; it decodes with the folder's keys. */

import type { Client } from '@temporalio/client';
import { pino } from 'pino';
import { connectTemporal } from '../../../lib/temporal/connect.ts';

/** @throws TemporalUnreachableError no server runs for that folder */
export async function withTemporalBeside<T>(
  dataDir: string,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const settings = { dataDir, temporalConfigured: false, encryptionKeys: [] };
  const connection = await connectTemporal(settings, { log: pino({ level: 'silent' }) });
  try {
    return await work(connection.client);
  } finally {
    await connection.close();
  }
}
