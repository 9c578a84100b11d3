/** Says in health and by an alert when work that is done again and again fails, or does not come to an end. */

import type { Alerts } from '../alerts/alerts.ts';
import type { AlertKey } from '../alerts/runbook/runbook.ts';
import type { Health } from './health.ts';

export interface TaskWatch {
  /** Runs the work once and remembers what became of it; it answers and throws as the work does. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

export interface TaskWatchOptions {
  /** Its name in `/readyz`, and of its alert. */
  readonly component: Extract<AlertKey, 'ingest' | 'publication'>;
  /** The alert's sentence, e.g. `Nothing new is published`. */
  readonly title: string;
  /** What to do about it. */
  readonly advice: string;
  readonly health: Health;
  readonly alerts: Alerts;
  /** Work that has not ended by then stands still; work that took long before is given ten times as long. */
  readonly standsStillAfterMs?: number;
}

/** One failure may be a moment; the work is tried again within seconds. */
const UNWELL_AFTER = 2;
const STANDS_STILL_AFTER_MS = 20_000;
const PATIENCE_FACTOR = 10;

/**
 * Two failures in a row, or work that does not end, make the component unhealthy and raise its alert; a success resolves both.
 *
 * @param options.standsStillAfterMs milliseconds
 */
export function watchTask(options: TaskWatchOptions): TaskWatch {
  const { component, health, alerts, standsStillAfterMs = STANDS_STILL_AFTER_MS } = options;
  let failures = 0;
  let longestMs = 0;

  function unwell(detail: string): void {
    health.set(component, { isHealthy: false, detail });
    alerts.raise({ key: component, title: options.title, detail: `${detail} ${options.advice}` });
  }

  return {
    async run(work) {
      const beganMs = performance.now();
      const limitMs = Math.max(standsStillAfterMs, longestMs * PATIENCE_FACTOR);
      const late = setTimeout(
        () => unwell(`It has not come to an end for ${Math.round(limitMs / 1_000)} s.`),
        limitMs,
      ).unref();
      try {
        const result = await work();
        failures = 0;
        longestMs = Math.max(longestMs, performance.now() - beganMs);
        health.set(component, { isHealthy: true });
        alerts.resolve(component);
        return result;
      } catch (error) {
        failures += 1;
        const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
        if (failures >= UNWELL_AFTER)
          unwell(`It failed ${failures} times in a row: ${reason.replace(/[^.!?]$/, '$&.')}`);
        throw error;
      } finally {
        clearTimeout(late);
      }
    },
  };
}
