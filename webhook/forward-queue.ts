/**
 * Decides which delivery is forwarded next; pure, so that its promises can be tested without disk or clock.
 *
 * Deliveries of one invoice go one after the other in order of arrival; different invoices go side by side. One that
 * fails waits (1 s doubling to 60 s) and holds up its own invoice only. When one invoice after the other fails the gate
 * closes: then one delivery every few seconds asks whether the other side is back, and the first success lets all go
 * at once. A single invoice never closes it, however often it fails.
 */

import type { InboxEntry } from './inbox/inbox.ts';
import { keyOf } from './inbox/inbox-entry.ts';

export interface ForwardQueue {
  /** false when the entry is known already. */
  add(entry: InboxEntry): boolean;
  isKnown(key: string): boolean;
  /** The next entry to work on, now in flight; null when there is none for the moment. */
  take(atMs: number): InboxEntry | null;
  done(entry: InboxEntry): void;
  /** @returns in how many milliseconds it is tried again at the earliest */
  failed(entry: InboxEntry, atMs: number): number;
  /** When `take` is worth calling again although nothing else happens; null: never. */
  nextAtMs(): number | null;
  readonly size: number;
  readonly inFlight: number;
  readonly isGateClosed: boolean;
  /** Since the last success something has failed. */
  readonly isFailing: boolean;
  /** ISO 8601 UTC; null when nothing waits. */
  oldestReceivedAt(): string | null;
}

/** One invoice's deliveries in order of arrival; the first is the one that is worked on. */
interface Lane {
  readonly entries: InboxEntry[];
  isBusy: boolean;
  attempts: number;
  notBeforeMs: number;
}

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;
const LONGEST_GATE_MS = 5_000;
const FAILING_LANES_TO_CLOSE = 5;
/** What failed more often than this waits its time out, also when others get through. */
const ATTEMPTS_IN_GOOD_FAITH = 6;

export function createForwardQueue(
  options: { readonly concurrency?: number; readonly firstBackoffMs?: number } = {},
): ForwardQueue {
  const { concurrency = 32, firstBackoffMs = FIRST_BACKOFF_MS } = options;
  const lanes = new Map<string, Lane>();
  const known = new Map<string, InboxEntry>();
  /** Lanes (one per invoice) that are ready, in order of arrival. */
  const ready = new Set<string>();
  const waiting = new Set<string>();
  let inFlight = 0;
  /** Since the last success. */
  const failing = new Set<string>();
  let gateAttempts = 0;
  let gateOpensAtMs = 0;

  function add(entry: InboxEntry): boolean {
    const key = keyOf(entry);
    if (known.has(key)) return false;
    known.set(key, entry);
    const name = laneOf(entry);
    const lane = lanes.get(name);
    if (lane !== undefined) lane.entries.push(entry);
    else {
      lanes.set(name, { entries: [entry], isBusy: false, attempts: 0, notBeforeMs: 0 });
      ready.add(name);
    }
    return true;
  }

  const isGateClosed = (): boolean => failing.size >= FAILING_LANES_TO_CLOSE;

  function take(atMs: number): InboxEntry | null {
    wake(atMs);
    if (inFlight >= concurrency) return null;
    if (isGateClosed() && (inFlight > 0 || atMs < gateOpensAtMs)) return null;
    const [name] = ready;
    const lane = name === undefined ? undefined : lanes.get(name);
    const entry = lane?.entries[0];
    if (name === undefined || lane === undefined || entry === undefined) return null;
    ready.delete(name);
    lane.isBusy = true;
    inFlight += 1;
    return entry;
  }

  function wake(atMs: number): void {
    for (const name of waiting) {
      const lane = lanes.get(name);
      if (lane !== undefined && lane.notBeforeMs > atMs) continue;
      waiting.delete(name);
      if (lane !== undefined) ready.add(name);
    }
  }

  function done(entry: InboxEntry): void {
    // If only one delivery failed, the fault may be its own; if several did, Temporal was away and is back.
    const mayWake = isGateClosed() ? Number.POSITIVE_INFINITY : failing.size > 1 ? ATTEMPTS_IN_GOOD_FAITH : 0;
    failing.clear();
    gateAttempts = 0;
    gateOpensAtMs = 0;
    leave(entry, (name, lane) => {
      lane.entries.shift();
      lane.attempts = 0;
      known.delete(keyOf(entry));
      if (lane.entries.length === 0) lanes.delete(name);
      else ready.add(name);
    });
    wakeThose(mayWake);
  }

  /** Those that failed while the other side was away need not wait for their turn. */
  function wakeThose(attemptsAtMost: number): void {
    if (attemptsAtMost === 0) return;
    for (const name of waiting) {
      const lane = lanes.get(name);
      if (lane !== undefined && lane.attempts <= attemptsAtMost) lane.notBeforeMs = 0;
    }
  }

  function failed(entry: InboxEntry, atMs: number): number {
    let waitMs = 0;
    leave(entry, (name, lane) => {
      lane.attempts += 1;
      waitMs = backoff(lane.attempts);
      lane.notBeforeMs = atMs + waitMs;
      waiting.add(name);
      failing.add(name);
    });
    // Those that were under way when the gate closed say nothing new.
    if (isGateClosed() && atMs >= gateOpensAtMs) {
      gateAttempts += 1;
      gateOpensAtMs = atMs + Math.min(LONGEST_GATE_MS, backoff(gateAttempts));
    }
    return waitMs;
  }

  function leave(entry: InboxEntry, then: (name: string, lane: Lane) => void): void {
    const name = laneOf(entry);
    const lane = lanes.get(name);
    if (lane === undefined || !lane.isBusy)
      throw new Error('A delivery that nobody took cannot be finished.');
    lane.isBusy = false;
    inFlight -= 1;
    then(name, lane);
  }

  function backoff(attempts: number): number {
    return Math.min(LONGEST_BACKOFF_MS, firstBackoffMs * 2 ** Math.min(attempts - 1, 16));
  }

  function nextAtMs(): number | null {
    let next: number | null = ready.size > 0 ? 0 : null;
    for (const name of waiting) {
      const at = lanes.get(name)?.notBeforeMs ?? 0;
      next = next === null ? at : Math.min(next, at);
    }
    if (next === null) return null;
    return isGateClosed() ? Math.max(next, gateOpensAtMs) : next;
  }

  return {
    add,
    isKnown: (key) => known.has(key),
    take,
    done,
    failed,
    nextAtMs,
    get size() {
      return known.size;
    },
    get inFlight() {
      return inFlight;
    },
    get isGateClosed() {
      return isGateClosed();
    },
    get isFailing() {
      return failing.size > 0;
    },
    oldestReceivedAt() {
      // Entries are added in order of arrival; looking at all of them would cost too much with a long backlog.
      for (const { receivedAt } of known.values()) return receivedAt;
      return null;
    },
  };
}

/** A delivery without an invoice waits for no other. */
function laneOf(entry: InboxEntry): string {
  return entry.kind === 'event' && entry.invoiceId !== null ? entry.invoiceId.toLowerCase() : keyOf(entry);
}
