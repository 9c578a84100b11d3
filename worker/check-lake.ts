/** Raises an alert that names who holds the locks that loading waits for. */

import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Check, Health } from '../lib/health/health.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';

const EVERY_MS = 10_000;

export function lakeCheck(
  warehouse: Pick<Warehouse, 'blockedBy'>,
  { health, alerts }: { readonly health: Health; readonly alerts: Alerts },
): Check {
  async function look(): Promise<void> {
    // That PostgreSQL does not answer is reported by what needs it.
    const holder = (await warehouse.blockedBy?.().catch(() => null)) ?? null;
    const detail = holder === null ? '' : `It waits for ${holder}.`;
    if (holder !== null || health.report().components['lake locks'] !== undefined)
      health.set('lake locks', { isHealthy: holder === null, detail, isOutside: true });
    if (holder === null) alerts.resolve('lake/blocked');
    else alerts.raise({ key: 'lake/blocked', title: 'Loading waits for another process', detail });
  }
  return { component: 'lake locks', everyMs: EVERY_MS, run: look };
}
