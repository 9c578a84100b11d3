/** Looks at something again and again and says in health, and by an alert, how it is: what nobody's work would stumble over. */

import type { Alerts } from '../alerts/alerts.ts';
import type { AlertKey } from '../alerts/runbook/runbook.ts';
import type { Check } from './checks.ts';
import type { Health } from './health.ts';

export interface LookedAt {
  readonly isHealthy: boolean;
  /** What a person reads; also when all is well, where there is something to say. */
  readonly detail: string;
}

export interface StateWatch {
  /** Its name in `/readyz`. */
  readonly component: string;
  readonly look: () => Promise<LookedAt>;
  /** Missing: another part raises the alert, or there is none. */
  readonly alert?: { readonly key: AlertKey; readonly title: string };
  /** true: it does not make this process unready to do its part. */
  readonly isOutside?: boolean;
  readonly everyMs: number;
}

/** A disk or a network that hangs answers never. */
const ANSWERS_WITHIN_MS = 20_000;
const UNANSWERED: LookedAt = {
  isHealthy: false,
  detail: `It cannot be looked at: no answer within ${ANSWERS_WITHIN_MS / 1_000} s`,
};

/** A state that cannot be read counts as unhealthy: silence would pass for good news. */
export function stateCheck(
  { component, look, alert, isOutside = false, everyMs }: StateWatch,
  { health, alerts }: { readonly health: Health; readonly alerts: Alerts },
): Check {
  function report(state: LookedAt): void {
    health.set(component, { ...state, isOutside });
    if (alert === undefined) return;
    if (state.isHealthy) alerts.resolve(alert.key);
    else alerts.raise({ ...alert, detail: state.detail });
  }
  return {
    component,
    everyMs,
    async run(signal) {
      const unanswered = setTimeout(() => report(UNANSWERED), ANSWERS_WITHIN_MS).unref();
      const state = await look().catch(unknown);
      clearTimeout(unanswered);
      if (!signal.aborted) report(state);
    },
  };
}

function unknown(error: unknown): LookedAt {
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return { isHealthy: false, detail: `It cannot be looked at: ${reason}` };
}
