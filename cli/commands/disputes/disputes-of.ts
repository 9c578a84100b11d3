/** The claims of a data folder, for the commands that read or change them. */

import type { Command } from 'commander';
import { checkEnvironment } from '../../environment-check.ts';
import { contextOf } from '../../verb.ts';

/** @throws CliError the data folder is of another environment */
export async function disputesOf(command: Command) {
  const { settings, output } = contextOf(command);
  await checkEnvironment(settings);
  const [{ openDisputes }, { publishedPath }] = await Promise.all([
    import('../../../finance/disputes/disputes.ts'),
    import('../../published.ts'),
  ]);
  const { dataDir } = settings;
  return { disputes: openDisputes({ dataDir, databasePath: publishedPath(settings) }), output };
}
