/** Starts a dashboard over a fixture on a free port, with nothing behind it that a test does not give it. */

import { pino } from 'pino';
import { type DashboardOptions, type RunningDashboard, startDashboard } from '../../dashboard/server.ts';
import { loadSettings } from '../../lib/config/load-settings.ts';
import { createHealth } from '../../lib/health/health.ts';
import { createMetrics } from '../../lib/metrics.ts';

export const SILENT = pino({ level: 'silent' });

export function dashboardOver(
  publishedPath: string,
  given: Partial<DashboardOptions> & { readonly admin?: Partial<DashboardOptions['settings']['admin']> } = {},
): Promise<RunningDashboard> {
  const { admin, ...rest } = given;
  const settings = loadSettings({ cwd: '/nowhere', env: { BILLSYNC_ADMIN_PORT: '0' } });
  return startDashboard({
    settings: { environment: 'test', admin: { ...settings.admin, ...admin } },
    publishedPath,
    health: createHealth(),
    metrics: createMetrics('dashboard'),
    log: SILENT,
    ...rest,
  });
}
