/**
 * Calls of DuckDB in progress. A call that never returns cannot be interrupted, and the process looks healthy around it, so
 * heartbeats, readiness and the end of the process depend on this list.
 */

/** Far longer than any statement takes; a longer one is given its own limit. */
const LIMIT_MS = 10 * 60_000;

interface NativeCall {
  readonly text: string;
  readonly limitMs: number;
  ranMs: number;
}

const running = new Set<NativeCall>();

/** @param limitMs after which the call counts as hung */
export async function countedCall<T>(text: string, call: () => Promise<T>, limitMs = LIMIT_MS): Promise<T> {
  const counted: NativeCall = { text, limitMs, ranMs: 0 };
  running.add(counted);
  try {
    return await call();
  } finally {
    running.delete(counted);
  }
}

/** Adds time in which this process ran: time in which it was frozen (SIGSTOP, a suspended machine) does not count. */
export function passTime(ms: number): void {
  for (const call of running) call.ranMs += ms;
}

export function isCallRunning(): boolean {
  return running.size > 0;
}

/** The beginning of a statement that exceeds its limit; null: none does. */
export function overdueCall(): string | null {
  for (const { text, limitMs, ranMs } of running)
    if (ranMs > limitMs) return text.trimStart().slice(0, 80).replaceAll(/\s+/g, ' ');
  return null;
}
