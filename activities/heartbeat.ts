import { overdueCall } from '../lib/health/native-calls.ts';

/** Pauses while a DuckDB call hangs, so that Temporal lets another worker retry. */
export function heartbeatEvery(ms: number, send: () => void): { stop(): void } {
  const timer = setInterval(() => {
    if (overdueCall() === null) send();
  }, ms);
  return { stop: () => clearInterval(timer) };
}
