/** What a role knows about its own state: each component says how it is, `/readyz` and `doctor` repeat it. */

import type { Alerts } from '../alerts/alerts.ts';
import type { AlertKey } from '../alerts/runbook/runbook.ts';
import type { Logger } from '../log/log.ts';

export interface ComponentHealth {
  readonly isHealthy: boolean;
  /** What a person reads, without secrets: what is wrong and since what; empty when all is well. */
  readonly detail: string;
  /** ISO 8601 UTC of the last change between healthy and not. */
  readonly since: string;
  /** true: others run it. That it is away is told, and does not make this process unready to do its part. */
  readonly isOutside?: boolean;
}

export interface HealthReport {
  /** Everything of our own is well: probes answer 200. */
  readonly isReady: boolean;
  /** So is what others run. */
  readonly isWell: boolean;
  readonly components: Readonly<Record<string, ComponentHealth>>;
}

export interface Health {
  /** @param component stable name, e.g. `temporal`, `inbox`, `warehouse` */
  set(
    component: string,
    state: { readonly isHealthy: boolean; readonly detail?: string; readonly isOutside?: boolean },
  ): void;
  report(): HealthReport;
}

/** A health without components is healthy; one unhealthy component makes the process so. */
export function createHealth(now: () => Date = () => new Date()): Health {
  const components = new Map<string, ComponentHealth>();
  return {
    set(component, { isHealthy, detail = '', isOutside = false }) {
      const before = components.get(component);
      const since = before?.isHealthy === isHealthy ? before.since : now().toISOString();
      components.set(component, { isHealthy, detail, since, ...(isOutside ? { isOutside } : {}) });
    },
    report() {
      const all = [...components.values()];
      return {
        isReady: all.every(({ isHealthy, isOutside }) => isHealthy || isOutside === true),
        isWell: all.every(({ isHealthy }) => isHealthy),
        components: Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
      };
    },
  };
}

export interface Check {
  readonly component: string;
  readonly everyMs: number;
  /** Runs once when it is added, then at each interval unless the run before goes on. `signal` aborts when the checks end. */
  run(signal: AbortSignal): unknown;
}

export interface Checks {
  add(...checks: readonly Check[]): void;
  /** Waits for checks that run, for two seconds: a disk or a network that hangs may never answer. Safe to call twice. */
  close(): Promise<void>;
}

const ENDS_WITHIN_MS = 2_000;

/** A check reports its own failures; whatever it throws is logged. */
export function startChecks({ log }: { readonly log: Logger }): Checks {
  const dueMs = new Map<Check, number>();
  const running = new Map<Check, Promise<void>>();
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  function begin(check: Check): void {
    const { component, everyMs } = check;
    dueMs.set(check, performance.now() + everyMs);
    if (running.has(check)) return;
    const run = Promise.try(() => check.run(closing.signal))
      .catch((error: unknown) => log.error({ err: error, component }, 'a check failed'))
      .then(() => void running.delete(check));
    running.set(check, run);
  }

  function plan(): void {
    clearTimeout(timer);
    if (closing.signal.aborted) return;
    const waitMs = Math.min(...dueMs.values()) - performance.now();
    timer = setTimeout(beginDue, Math.max(0, waitMs)).unref();
  }

  function beginDue(): void {
    for (const [check, atMs] of dueMs) if (atMs <= performance.now()) begin(check);
    plan();
  }

  return {
    add(...checks) {
      for (const check of checks) begin(check);
      plan();
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      let late: NodeJS.Timeout | undefined;
      const end = new Promise<void>((resolve) => {
        late = setTimeout(resolve, ENDS_WITHIN_MS);
      });
      await Promise.race([end, Promise.all(running.values())]);
      clearTimeout(late);
    },
  };
}

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
