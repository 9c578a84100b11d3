/** Health, metrics and the dashboard of a role. */

import { join } from 'node:path';
import { startDashboard } from '../../dashboard/server.js';
import { openQuarantine } from '../../inbox/quarantine-folder.js';
import { publishedPath } from '../published.js';
import type { RoleContext, RunningRole } from './run-role.js';

export async function startAdminRole(context: RoleContext): Promise<RunningRole> {
  const { settings, log, metrics, health } = context;
  const dashboard = await startDashboard({
    settings,
    publishedPath: publishedPath(settings),
    health,
    metrics,
    quarantineReader: await openQuarantine(join(settings.dataDir, 'quarantine')),
    log,
  });
  return { addresses: { dashboard: dashboard.url }, close: () => dashboard.close() };
}
