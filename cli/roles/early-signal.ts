/** A role that is told to stop before it has begun has nothing to drain: it ends with 0, as it would a second later. */

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Until `takeOverSignals`; loading what a role needs takes a moment, in which a signal would count as a failure. */
export function endOnEarlySignal(): void {
  for (const signal of SIGNALS) process.on(signal, end);
}

export function takeOverSignals(): void {
  for (const signal of SIGNALS) process.off(signal, end);
}

function end(): void {
  process.exit(0);
}
