/** Ends a transfer that makes no progress and reports one that does: the time limit follows from progress, not from size. */

import type { DownloadProgress } from './billing-service.ts';
import { DeadlineExceededError } from './errors.ts';
import { hostOf } from './http.ts';

/** How long a download may take; a drip that never stops would outlive every timeout between two chunks (hazard 35). */
export interface TransferLimits {
  readonly totalDeadlineMs: number;
  /** Fewer bytes than this within the window mean that the server drips. */
  readonly leastBytesPerSecond: number;
  readonly throughputWindowMs: number;
  /** For a file of unknown size. */
  readonly maxUnannouncedBytes: number;
}

/** The activity around a download ends at 15 minutes; ours comes first, and says why. */
export const DOWNLOAD_LIMITS: TransferLimits = {
  totalDeadlineMs: 14 * 60_000,
  leastBytesPerSecond: 8 * 1024,
  throughputWindowMs: 20_000,
  maxUnannouncedBytes: 20 * 1024 ** 3,
};

export interface WatchedTransfer {
  readonly url: string;
  /** null when the size was not announced. */
  readonly expectedBytes: number | null;
  readonly limits: Pick<TransferLimits, 'totalDeadlineMs' | 'leastBytesPerSecond' | 'throughputWindowMs'>;
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined;
}

export interface TransferWatch {
  bytesDone: number;
  /** Nothing more is to come; what follows is the archive's time. */
  isComplete: boolean;
  readonly signal: AbortSignal;
  stop(): void;
}

/** Reports once a second, with or without progress, so that the activity's heartbeat does not run out. */
export function watchTransfer({ url, expectedBytes, limits, onProgress }: WatchedTransfer): TransferWatch {
  const controller = new AbortController();
  const startedAtMs = performance.now();
  let windowStartMs = startedAtMs;
  let windowStartBytes = 0;
  const watch = {
    bytesDone: 0,
    isComplete: false,
    signal: controller.signal,
    stop: () => clearInterval(timer),
  };
  const tick = (): void => {
    const nowMs = performance.now();
    onProgress?.({ bytesDone: watch.bytesDone, bytesTotal: expectedBytes });
    if (watch.isComplete) return;
    if (nowMs - startedAtMs > limits.totalDeadlineMs) {
      const minutes = limits.totalDeadlineMs / 60_000;
      controller.abort(new DeadlineExceededError(hostOf(url), `took longer than ${minutes} minutes`));
    }
    if (nowMs - windowStartMs < limits.throughputWindowMs) return;
    const bytesPerSecond = ((watch.bytesDone - windowStartBytes) * 1_000) / (nowMs - windowStartMs);
    if (bytesPerSecond < limits.leastBytesPerSecond) {
      const rate = `sent ${Math.round(bytesPerSecond)} bytes a second, at least ${limits.leastBytesPerSecond} are asked for`;
      controller.abort(new DeadlineExceededError(hostOf(url), rate));
    }
    windowStartMs = nowMs;
    windowStartBytes = watch.bytesDone;
  };
  const timer = setInterval(tick, Math.min(1_000, limits.throughputWindowMs, limits.totalDeadlineMs));
  return watch;
}
