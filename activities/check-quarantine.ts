/** Tells when refused deliveries or files have waited for a person for more than a day. */

import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';

export interface CheckQuarantineResult {
  readonly held: number;
  readonly olderThanADay: number;
}

const ALERT_KEY = 'quarantine/old';
const DAY_MS = 86_400_000;

export function checkQuarantine({ quarantine, alerts, now }: WarehouseDependencies) {
  return (): Promise<CheckQuarantineResult> =>
    translated(async () => {
      const held = await quarantine.list();
      const old = held.filter(({ at }) => now().getTime() - Date.parse(at) > DAY_MS);
      if (old.length === 0) alerts.resolve(ALERT_KEY);
      else {
        const detail = `See \`billsync quarantine list\`; the oldest: ${old[0]?.reason ?? ''}`;
        const title = `${old.length} refused deliveries or files have waited for more than a day`;
        alerts.raise({ key: ALERT_KEY, title, detail });
      }
      return { held: held.length, olderThanADay: old.length };
    });
}
