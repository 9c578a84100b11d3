import { setTimeout } from 'node:timers/promises';
import { BillsyncError, EXIT } from '../errors.ts';
import type { StateCheck } from './health.ts';

export const MAX_UNALERTED_MS = 30_000;
export const MAX_STARTED_MS = 5 * 60_000;

export interface ServerClock {
  /** @param sentAt `performance.now()` when the request was sent */
  answered(dateHeader: string | undefined, sentAt: number): void;
  /** The server's time in milliseconds since 1970; null before the first answer. */
  now(): number | null;
  /**
   * How far this machine is ahead, by the smallest difference that the answer allows; negative when it is behind, null before the
   * first answer.
   */
  aheadMs(): number | null;
}

export interface ComparedClock {
  readonly name: string;
  aheadMs: ServerClock['aheadMs'];
  request(): Promise<unknown>;
}

interface Difference {
  readonly name: string;
  readonly aheadMs: number;
}

const HEADER_MS = 999;
/** The `Date` of a slower answer is too inexact. */
const MAX_ROUND_TRIP_MS = 10_000;
/** An unreachable server must not prevent a start. */
const ANSWER_TIMEOUT_MS = 3_000;
const CHECK_EVERY_MS = 30_000;
export const CLOCK_HINT = 'set the clock, e.g. with NTP (`timedatectl` shows whether it is synchronized)';

export class WrongClockError extends BillsyncError {
  readonly code = 'wrong-clock';
  override readonly exitCode = EXIT.checkFailed;

  constructor(wrong: readonly Difference[]) {
    super(`${describeDifferences(wrong)}; more than ${duration(MAX_STARTED_MS)} is refused`, {
      hint: CLOCK_HINT,
    });
  }
}

export function createServerClock(): ServerClock {
  type Answer = { readonly serverMs: number; readonly sentAt: number; readonly receivedAt: number };
  let newest: Answer | null = null;
  let compared: Answer | null = null;
  return {
    answered(dateHeader, sentAt) {
      const serverMs = Date.parse(dateHeader ?? '');
      if (Number.isNaN(serverMs)) return;
      newest = { serverMs, sentAt, receivedAt: performance.now() };
      if (newest.receivedAt - sentAt <= MAX_ROUND_TRIP_MS) compared = newest;
    },
    now: () => (newest === null ? null : Math.round(newest.serverMs + performance.now() - newest.receivedAt)),
    aheadMs() {
      if (compared === null) return null;
      const sinceHeader = performance.now() + compared.serverMs;
      const ours = Date.now();
      const latest = sinceHeader - compared.sentAt + HEADER_MS;
      if (ours > latest) return ours - latest;
      return Math.min(0, ours - (sinceHeader - compared.receivedAt));
    },
  };
}

/**
 * The monotonic clock stops while a machine is suspended, so a server whose clock seems to differ gets a new request.
 */
export async function compareClocks(
  clocks: readonly ComparedClock[],
  { includesUnknown }: { readonly includesUnknown: boolean },
): Promise<readonly Difference[]> {
  const compared = clocks.map(async ({ name, aheadMs, request }) => {
    const seenMs = aheadMs();
    if (seenMs === null ? includesUnknown : Math.abs(seenMs) > MAX_UNALERTED_MS) {
      const late = setTimeout(ANSWER_TIMEOUT_MS, undefined, { ref: false });
      await Promise.race([request().catch(() => undefined), late]);
    }
    const ahead = aheadMs();
    return ahead === null ? [] : [{ name, aheadMs: ahead }];
  });
  return (await Promise.all(compared)).flat();
}

export async function refuseWrongClock(clocks: readonly ComparedClock[]): Promise<void> {
  const wrong = differing(await compareClocks(clocks, { includesUnknown: true }), MAX_STARTED_MS);
  if (wrong.length > 0) throw new WrongClockError(wrong);
}

export function clockCheck(clocks: readonly ComparedClock[]): StateCheck {
  return {
    component: 'clock',
    alert: { key: 'clock', title: "This machine's clock differs from a server's" },
    isOutside: true,
    everyMs: CHECK_EVERY_MS,
    async readState() {
      const wrong = differing(await compareClocks(clocks, { includesUnknown: false }), MAX_UNALERTED_MS);
      return { isHealthy: wrong.length === 0, detail: describeDifferences(wrong) };
    },
  };
}

export function differing(differences: readonly Difference[], limitMs: number): readonly Difference[] {
  return differences.filter(({ aheadMs }) => Math.abs(aheadMs) > limitMs);
}

export function describeDifferences(differences: readonly Difference[]): string {
  if (differences.length === 0) return '';
  const each = differences.map(({ name, aheadMs }) => {
    const direction = aheadMs < 0 ? 'behind' : 'ahead of';
    return `${duration(Math.abs(aheadMs))} ${direction} that of ${name}`;
  });
  return `this machine's clock is ${each.join(' and ')}`;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
