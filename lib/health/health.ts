import type { AlertKey } from '../alerts/alert-names.ts';
import type { Alerts } from '../alerts/alerts.ts';
import type { Logger } from '../log/log.ts';
import { firstLine } from '../system-errors.ts';

export interface ComponentHealth {
  readonly isHealthy: boolean;
  /** What is wrong, without secrets; empty when the component is healthy. */
  readonly detail: string;
  /** Instant of the last change between healthy and not, in ISO 8601 UTC. */
  readonly since: string;
  /** True when another party runs the component, which then does not make this process unready. */
  readonly isOutside?: boolean;
}

export interface HealthReport {
  readonly isReady: boolean;
  readonly isWell: boolean;
  readonly components: Readonly<Record<string, ComponentHealth>>;
}

export interface Health {
  set(
    component: string,
    state: { readonly isHealthy: boolean; readonly detail?: string; readonly isOutside?: boolean },
  ): void;
  report(): HealthReport;
}

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

export interface Sinks {
  readonly health: Health;
  readonly alerts: Alerts;
}

export interface Check {
  readonly component: string;
  readonly everyMs: number;
  /** A run does not start while the previous one is in progress. `signal` aborts when the checks end. */
  run(signal: AbortSignal): unknown;
}

export interface Checks {
  add(...checks: readonly (Check | StateCheck)[]): void;
  /** Waits up to two seconds for running checks, because a hung disk or network never answers. Safe to call twice. */
  close(): Promise<void>;
}

const ENDS_WITHIN_MS = 2_000;

export function startChecks(sinks: Sinks & { readonly log: Logger }): Checks {
  const { log } = sinks;
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
      for (const check of checks) begin('readState' in check ? reportedCheck(check, sinks) : check);
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

export interface CheckedState {
  readonly isHealthy: boolean;
  readonly detail: string;
}

export interface StateCheck {
  readonly component: string;
  readonly readState: () => Promise<CheckedState>;
  readonly alert?: { readonly key: AlertKey; readonly title: string };
  readonly isOutside?: boolean;
  readonly everyMs: number;
}

const ANSWERS_WITHIN_MS = 20_000;
const UNANSWERED: CheckedState = {
  isHealthy: false,
  detail: `It cannot be checked: no answer within ${ANSWERS_WITHIN_MS / 1_000} s`,
};

export function reportedCheck(
  { component, readState, alert, isOutside = false, everyMs }: StateCheck,
  { health, alerts }: Sinks,
): Check {
  function report(state: CheckedState): void {
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
      const state = await readState().catch(unknown);
      clearTimeout(unanswered);
      if (!signal.aborted) report(state);
    },
  };
}

function unknown(error: unknown): CheckedState {
  return { isHealthy: false, detail: `It cannot be checked: ${firstLine(error)}` };
}

export interface TaskWatchOptions extends Sinks {
  readonly component: Extract<AlertKey, 'ingest' | 'publication'>;
  readonly title: string;
  readonly advice: string;
  /** Milliseconds after which a check counts as stalled; one that once took longer is given ten times as long. */
  readonly stalledAfterMs?: number;
}

/** A component is unhealthy after so many failures in a row: one may be temporary, and the work is retried within seconds. */
const UNHEALTHY_AFTER = 2;
const STALLED_AFTER_MS = 20_000;
const PATIENCE_FACTOR = 10;

export function watchTask(options: TaskWatchOptions): <T>(work: () => Promise<T>) => Promise<T> {
  const { component, health, alerts, stalledAfterMs = STALLED_AFTER_MS } = options;
  let failures = 0;
  let longestMs = 0;

  function reportUnhealthy(detail: string): void {
    health.set(component, { isHealthy: false, detail });
    alerts.raise({ key: component, title: options.title, detail: `${detail} ${options.advice}` });
  }

  return async (work) => {
    const beganMs = performance.now();
    const limitMs = Math.max(stalledAfterMs, longestMs * PATIENCE_FACTOR);
    const late = setTimeout(
      () => reportUnhealthy(`It has not ended for ${Math.round(limitMs / 1_000)} s.`),
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
      if (failures >= UNHEALTHY_AFTER) {
        const reason = firstLine(error).replace(/[^.!?]$/, '$&.');
        reportUnhealthy(`It failed ${failures} times in a row: ${reason}`);
      }
      throw error;
    } finally {
      clearTimeout(late);
    }
  };
}
