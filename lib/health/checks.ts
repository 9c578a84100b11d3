/** The periodic checks of a process: one table and one timer. */

import type { Logger } from '../log/log.ts';

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
