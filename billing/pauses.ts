/** Leaves hosts alone that asked for it: a short pause is waited out, a longer one becomes an error. */

import { OverloadedError } from './errors.ts';

/** A pause that a host asks for is cut to this: a longer one is a mistake or an attack. */
const LONGEST_PAUSE_SECONDS = 300;
/** Pauses up to this are waited out instead of becoming errors. */
const WAITED_OUT_MS = 3_000;

export interface Pauses {
  /** @param asked the status that asked for it */
  note(host: string, asked: { readonly status: number; readonly seconds: number }): void;
  /** @throws OverloadedError the host has not had its rest; the signal's reason when it aborts first */
  respect(host: string, signal: AbortSignal | undefined): Promise<void>;
}

export function createPauses(): Pauses {
  /** Host → until when (monotonic milliseconds) it is left alone, and the status that asked for it. */
  const pauses = new Map<string, { readonly untilMs: number; readonly status: number }>();
  return {
    note(host, { status, seconds }) {
      const untilMs = performance.now() + Math.min(seconds, LONGEST_PAUSE_SECONDS) * 1_000;
      if (untilMs > (pauses.get(host)?.untilMs ?? 0)) pauses.set(host, { untilMs, status });
    },
    async respect(host, signal) {
      const pause = pauses.get(host);
      if (pause === undefined) return;
      const leftMs = pause.untilMs - performance.now();
      if (leftMs <= 0) {
        pauses.delete(host);
        return;
      }
      if (leftMs > WAITED_OUT_MS) throw new OverloadedError(host, pause.status, Math.ceil(leftMs / 1_000));
      await delay(leftMs, signal);
    },
  };
}

/** Waits; @throws the signal's reason when it aborts first */
function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const aborted = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, ms);
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
