/** Refuses to read the data folder of the other environment: test figures must never be taken for real ones. */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '../config/settings.js';
import { CliError, EXIT } from './errors.js';

/** A folder that nobody marked yet belongs to nobody. @throws CliError (exit 2) */
export async function checkEnvironment({ dataDir, environment }: Settings): Promise<void> {
  let marked: string;
  try {
    marked = (await readFile(join(dataDir, 'environment'), 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (marked === environment) return;
  throw new CliError(EXIT.usage, `this data folder belongs to the ${marked} environment`, {
    subject: dataDir,
    hint: `set BILLSYNC_ENVIRONMENT=${marked}, or another BILLSYNC_DATA_DIR for ${environment}`,
  });
}
