/** A call of DuckDB that never returns cannot be interrupted, and the process looks healthy around it. */

/** The limit of a DuckDB call is far longer than any statement takes; a longer one is given its own limit. */
const LIMIT_MS = 10 * 60_000;

interface NativeCall {
  readonly text: string;
  readonly limitMs: number;
  ranMs: number;
}

const runningCalls = new Set<NativeCall>();

export async function countedCall<T>(text: string, call: () => Promise<T>, limitMs = LIMIT_MS): Promise<T> {
  const counted: NativeCall = { text, limitMs, ranMs: 0 };
  runningCalls.add(counted);
  try {
    return await call();
  } finally {
    runningCalls.delete(counted);
  }
}

/** Time in which this process was frozen (SIGSTOP, a suspended machine) must not count. */
export function passTime(ms: number): void {
  for (const call of runningCalls) call.ranMs += ms;
}

export function isCallRunning(): boolean {
  return runningCalls.size > 0;
}

export function overdueCall(): string | null {
  for (const { text, limitMs, ranMs } of runningCalls)
    if (ranMs > limitMs) return text.trimStart().slice(0, 80).replaceAll(/\s+/g, ' ');
  return null;
}
