/** The embedded Temporal server as a role. */

import { startEmbeddedTemporal } from '../../lib/temporal/embedded.ts';
import { claimDataFolder } from '../../warehouse/data-folder.ts';
import type { RoleContext, RunningRole } from './run-role.ts';

export async function startTemporalRole({ settings, log }: RoleContext): Promise<RunningRole> {
  await claimDataFolder(settings.dataDir, settings.environment);
  const address = process.env.TEMPORAL_ADDRESS;
  const server = await startEmbeddedTemporal({
    dataDir: settings.dataDir,
    log,
    ...(address ? { address } : {}),
    onProgress: (line) => log.info(line),
  });
  return { addresses: { temporal: server.address }, close: () => server.stop() };
}
