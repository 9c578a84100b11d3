/** One look at the cost rules with the alerts that a worker has: what was said is in `alerts.ndjson`, and outlives the process. */

import { join } from 'node:path';
import { costPaths, lookAtCosts } from '../../../finance/cost-alerts/watch-costs.ts';
import { createAlerts } from '../../../lib/alerts/alerts.ts';
import { createLogger } from '../../../lib/log/log.ts';
import { createScrub } from '../../../lib/log/scrub.ts';
import { alertSettings, testSettings } from '../../webhook/a-delivery.ts';

export const SAID = 'alerts.ndjson';

/** @param onceTold is called when the first findings were said for good, while the look goes on and nothing is noted yet */
export async function lookAsWorker(
  folder: string,
  databasePath: string,
  at: Date,
  onceTold?: () => void,
): Promise<void> {
  const base = testSettings(folder);
  const settings = {
    ...base,
    alerts: alertSettings({ file: join(folder, SAID) }),
  };
  const log = createLogger(settings, 'worker', { write: () => {} });
  const now = (): Date => at;
  const storePath = join(folder, 'run/alerts.json');
  const alerts = createAlerts({ settings, log, scrub: createScrub(settings), now, storePath });
  const raise: typeof alerts.raise = (alert) => {
    alerts.raise(alert);
    // All of a rule are raised at once.
    if (onceTold !== undefined) setImmediate(() => void alerts.close().then(onceTold));
  };
  const watched = { ...alerts, raise };
  await lookAtCosts({ ...costPaths(folder), databasePath, dashboardUrl: null, alerts: watched, log, now });
  await alerts.close();
}
