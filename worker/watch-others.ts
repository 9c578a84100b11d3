/** Raises an alert when what others run for us (Temporal, the billing service) has not been well for a while. */

import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Check, Health } from '../lib/health/health.ts';

const OTHERS = [
  {
    component: 'temporal',
    key: 'temporal/away',
    title: 'Temporal does not answer',
    advice: 'Deliveries are kept; nothing is downloaded or loaded until it is back.',
  },
  {
    component: 'billing service',
    key: 'service/unwell',
    title: 'Calls to the billing service fail',
    advice: 'Everything is tried again with growing pauses; nothing is lost.',
  },
] as const;

/** A restart of Temporal, or a call that fails once and is repeated, is no news. */
const PATIENCE_MS = 15_000;
const EVERY_MS = 2_000;

export function othersCheck({
  health,
  alerts,
  now = () => new Date(),
}: {
  readonly health: Health;
  readonly alerts: Alerts;
  readonly now?: () => Date;
}): Check {
  function look(): void {
    const { components } = health.report();
    for (const { component, key, title, advice } of OTHERS) {
      const state = components[component];
      if (state?.isHealthy === true) alerts.resolve(key);
      else if (state !== undefined && now().getTime() - Date.parse(state.since) >= PATIENCE_MS) {
        alerts.raise({ key, title, detail: `${state.detail}. ${advice}` });
      }
    }
  }
  return { component: 'others', everyMs: EVERY_MS, run: look };
}
