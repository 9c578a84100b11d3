/** Ends the process when a call of DuckDB never returns; its supervisor starts another, and Temporal repeats what was at work. */

import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Check, Health } from '../lib/health/health.ts';
import { overdueCall, passTime } from '../lib/health/native-calls.ts';

const EVERY_MS = 1_000;
/** For the alert to be sent. */
const ENDS_AFTER_MS = 5_000;

export function duckDbCheck({
  health,
  alerts,
  endProcess = killOwnProcess,
}: {
  readonly health: Health;
  readonly alerts: Alerts;
  readonly endProcess?: () => void;
}): Check {
  let isOver = false;
  function look(): void {
    passTime(EVERY_MS);
    const statement = overdueCall();
    if (statement === null || isOver) return;
    isOver = true;
    const detail = `DuckDB does not return from: ${statement}`;
    health.set('duckdb', { isHealthy: false, detail });
    alerts.raise({ key: 'duckdb', title: 'DuckDB does not answer; the worker ends', detail });
    setTimeout(endProcess, ENDS_AFTER_MS);
  }
  return { component: 'duckdb', everyMs: EVERY_MS, run: look };
}

/** Not `process.exit`: it waits for the thread that waits for DuckDB. */
function killOwnProcess(): void {
  process.kill(process.pid, 'SIGKILL');
}
