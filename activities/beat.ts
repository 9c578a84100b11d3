/** Heartbeats of work that cannot say how far it is. */

import { overdueCall } from '../lib/health/native-calls.ts';

/** Beats while the process gets on: not while DuckDB does not return from a call, so that Temporal has another worker try. */
export function beatEvery(ms: number, beat: () => void): { stop(): void } {
  const timer = setInterval(() => {
    if (overdueCall() === null) beat();
  }, ms);
  return { stop: () => clearInterval(timer) };
}
