/**
 * The calls of DuckDB that this process waits for. One that never returns cannot be interrupted, and everything around it looks
 * sound: heartbeats, readiness and the end of the process depend on what is here.
 */

/** Far longer than any statement of ours takes; one that may take longer is given a limit of its own. */
const LIMIT_MS = 10 * 60_000;

interface NativeCall {
  readonly text: string;
  readonly limitMs: number;
  ranMs: number;
}

const running = new Set<NativeCall>();

/** Waits for a call. @param limitMs after which it counts as one that never returns */
export async function countedCall<T>(text: string, call: () => Promise<T>, limitMs = LIMIT_MS): Promise<T> {
  const counted: NativeCall = { text, limitMs, ranMs: 0 };
  running.add(counted);
  try {
    return await call();
  } finally {
    running.delete(counted);
  }
}

/** Counts time during which this process ran: that of a frozen one (SIGSTOP, a suspended machine) is no call's fault. */
export function passTime(ms: number): void {
  for (const call of running) call.ranMs += ms;
}

export function isCallRunning(): boolean {
  return running.size > 0;
}

/** The beginning of a statement that takes longer than its limit; null: there is none. */
export function overdueCall(): string | null {
  for (const { text, limitMs, ranMs } of running)
    if (ranMs > limitMs) return text.trimStart().slice(0, 80).replaceAll(/\s+/g, ' ');
  return null;
}
