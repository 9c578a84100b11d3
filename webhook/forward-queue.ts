/**
 * Decides which delivery is forwarded next; pure.
 *
 * Deliveries of one invoice are forwarded one after the other in order of arrival, different invoices concurrently. A failed
 * delivery waits (1 s doubling to 60 s) and delays its own invoice only. When several invoices fail, the gate closes: one
 * delivery every few seconds probes Temporal, and the first success lets all continue. A single invoice never closes it.
 */

import { type InboxEntry, keyOf } from './inbox/inbox.ts';

export interface ForwardQueue {
  /** false when the entry is known already. */
  add(entry: InboxEntry): boolean;
  isKnown(key: string): boolean;
  /** The next entry to forward, now in flight; null when none is ready. */
  take(atMs: number): InboxEntry | null;
  done(entry: InboxEntry): void;
  /** @returns milliseconds until the next attempt at the earliest */
  failed(entry: InboxEntry, atMs: number): number;
  /** When `take` may return an entry without another event; null: never. */
  nextAtMs(): number | null;
  readonly size: number;
  readonly inFlight: number;
  readonly isGateClosed: boolean;
  /** Something has failed since the last success. */
  readonly isFailing: boolean;
  /** ISO 8601 UTC; null when the queue is empty. */
  oldestReceivedAt(): string | null;
}

/** One invoice's deliveries in order of arrival; the first is forwarded next. */
interface Lane {
  readonly entries: InboxEntry[];
  isBusy: boolean;
  failures: number;
  notBeforeMs: number;
}

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 60_000;
const MAX_GATE_MS = 5_000;
const FAILING_LANES_TO_CLOSE = 5;
/** A lane with more failures than this waits its full time, also when others succeed. */
const MAX_EARLY_RETRIES = 6;

export function createForwardQueue(
  options: { readonly concurrency?: number; readonly firstBackoffMs?: number } = {},
): ForwardQueue {
  const { concurrency = 32, firstBackoffMs = FIRST_BACKOFF_MS } = options;
  const lanes = new Map<string, Lane>();
  const known = new Map<string, InboxEntry>();
  /** Names of lanes, in order of arrival. */
  const ready = new Set<string>();
  const waiting = new Set<string>();
  let inFlight = 0;
  /** Lanes that have failed since the last success. */
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
      lanes.set(name, { entries: [entry], isBusy: false, failures: 0, notBeforeMs: 0 });
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
    // One failed delivery may itself be the cause; several mean that Temporal was unreachable and is back.
    const maxFailures = isGateClosed() ? Number.POSITIVE_INFINITY : failing.size > 1 ? MAX_EARLY_RETRIES : 0;
    failing.clear();
    gateAttempts = 0;
    gateOpensAtMs = 0;
    leave(entry, (name, lane) => {
      lane.entries.shift();
      lane.failures = 0;
      known.delete(keyOf(entry));
      if (lane.entries.length === 0) lanes.delete(name);
      else ready.add(name);
    });
    retryNow(maxFailures);
  }

  function retryNow(maxFailures: number): void {
    for (const name of waiting) {
      const lane = lanes.get(name);
      if (lane !== undefined && lane.failures <= maxFailures) lane.notBeforeMs = 0;
    }
  }

  function failed(entry: InboxEntry, atMs: number): number {
    let waitMs = 0;
    leave(entry, (name, lane) => {
      lane.failures += 1;
      waitMs = backoff(lane.failures);
      lane.notBeforeMs = atMs + waitMs;
      waiting.add(name);
      failing.add(name);
    });
    // Entries that were in flight when the gate closed do not delay it further.
    if (isGateClosed() && atMs >= gateOpensAtMs) {
      gateAttempts += 1;
      gateOpensAtMs = atMs + Math.min(MAX_GATE_MS, backoff(gateAttempts));
    }
    return waitMs;
  }

  function leave(entry: InboxEntry, then: (name: string, lane: Lane) => void): void {
    const name = laneOf(entry);
    const lane = lanes.get(name);
    if (lane === undefined || !lane.isBusy) throw new Error('The delivery is not in flight.');
    lane.isBusy = false;
    inFlight -= 1;
    then(name, lane);
  }

  function backoff(attempts: number): number {
    return Math.min(MAX_BACKOFF_MS, firstBackoffMs * 2 ** Math.min(attempts - 1, 16));
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
      // Entries are added in order of arrival.
      for (const { receivedAt } of known.values()) return receivedAt;
      return null;
    },
  };
}

/** A delivery without an invoice has a lane of its own. */
function laneOf(entry: InboxEntry): string {
  return entry.kind === 'event' && entry.invoiceId !== null ? entry.invoiceId.toLowerCase() : keyOf(entry);
}
