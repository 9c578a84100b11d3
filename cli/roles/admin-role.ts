/** The admin port of a role: the dashboard with its pages, and `/livez`, `/readyz`, `/metrics` beside them. */

import { join } from 'node:path';
import { startDashboard } from '../../dashboard/server.js';
import { openQuarantine } from '../../inbox/quarantine-folder.js';
import { createScrub } from '../../ops/scrub.js';
import { publishedPath } from '../published.js';
import type { RoleContext, RunningRole } from './run-role.js';

export async function startAdminRole({ settings, log, metrics, health }: RoleContext): Promise<RunningRole> {
  const dashboard = await startDashboard({
    settings,
    publishedPath: publishedPath(settings),
    health,
    metrics,
    log,
    scrub: createScrub(settings, { keepFigures: true }),
    quarantine: await openQuarantine(join(settings.dataDir, 'quarantine')),
  });
  return { addresses: { dashboard: `${dashboard.url}/` }, close: () => dashboard.close() };
}
