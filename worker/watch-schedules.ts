/** Says in health, and by an alert, when the reconciliation or a scheduled report failed or did not run when it was due. */

import type { Client } from '@temporalio/client';
import type { Settings } from '../config/settings.ts';
import type { Health } from '../ops/health.ts';
import type { LookedAt, StateWatch } from '../ops/watch-state.ts';
import { scheduleWatch } from '../temporal/look-at-schedules.ts';

const MINUTE_MS = 60_000;

export function schedulesWatch({
  settings,
  health,
  everyMs = MINUTE_MS,
  now = () => new Date(),
}: {
  readonly settings: Pick<Settings, 'environment' | 'reconcileEvery'>;
  readonly health: Pick<Health, 'report'>;
  readonly everyMs?: number;
  readonly now?: () => Date;
}): {
  readonly watch: StateWatch;
  /** From now on this client is asked. */
  ask(client: Client): void;
} {
  const lookAt = scheduleWatch(settings, now());
  let asked: Client | null = null;
  let last: LookedAt = { isHealthy: true, detail: '' };
  return {
    ask(client) {
      asked = client;
    },
    watch: {
      component: 'schedule',
      isOutside: true,
      everyMs,
      alert: { key: 'schedule', title: 'A scheduled job failed or did not run' },
      async look() {
        // While Temporal is away that is the news, and it has an alert of its own.
        if (asked === null || health.report().components.temporal?.isHealthy !== true) return last;
        last = await lookAt(asked, now());
        return last;
      },
    },
  };
}
