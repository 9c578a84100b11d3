/** Refuses to read the data folder of the other environment (test figures must never be taken for real ones) or of a newer form. */

import { join } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';
import { readIfThere } from '../lib/files/files.ts';
import { isOpenToAll, OPEN_TO_ALL } from '../lib/files/private-folder.ts';
import { checkDataFolderForm } from '../warehouse/data-folder.ts';
import { CliError, EXIT } from './errors.ts';

/** A folder that nobody marked yet belongs to nobody. @throws CliError, data-folder-too-new (exit 2) */
export async function checkEnvironment({ dataDir, environment }: Settings): Promise<void> {
  await checkDataFolderForm(dataDir);
  if (await isOpenToAll(dataDir)) {
    process.stderr.write(
      `billsync: warning: ${OPEN_TO_ALL}, ${dataDir}, so what is read may be forged\n  → see that what lies there is yours, then chmod -R go-rwx it\n`,
    );
  }
  const marked = (await readIfThere(join(dataDir, 'environment')))?.toString().trim() ?? environment;
  if (marked === environment) return;
  throw new CliError(EXIT.usage, `this data folder belongs to the ${marked} environment`, {
    subject: dataDir,
    hint: `set BILLSYNC_ENVIRONMENT=${marked}, or another BILLSYNC_DATA_DIR for ${environment}`,
  });
}
