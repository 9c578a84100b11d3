/**
 * Deliveries of one invoice are forwarded in order of arrival, a void before all others. A failed one delays its own
 * invoice only. After several failures in a row the gate closes: one delivery at a time probes Temporal.
 */

import { type InboxEntry, keyOf } from './inbox/inbox.ts';

interface Lane {
  readonly entries: InboxEntry[];
  failures: number;
  notBeforeMs: number;
}

const MAX_BACKOFF_MS = 60_000;
const FAILURES_TO_CLOSE = 5;
const GATE_BACKOFFS = 5;

export function createForwardQueue({ concurrency = 32, firstBackoffMs = 1_000 } = {}) {
  const lanes = new Map<string, Lane>();
  const known = new Map<string, InboxEntry>();
  /** Names of lanes, in order of arrival. A lane in flight is in neither set. */
  const ready = new Set<string>();
  const waiting = new Set<string>();
  let inFlight = 0;
  let failuresInRow = 0;
  let gateOpensAtMs = 0;

  const isGateClosed = (): boolean => failuresInRow >= FAILURES_TO_CLOSE;

  function add(entry: InboxEntry): void {
    const key = keyOf(entry);
    if (known.has(key)) return;
    known.set(key, entry);
    const name = laneOf(entry);
    const lane = lanes.get(name);
    const isInFlight = !ready.has(name) && !waiting.has(name);
    if (lane !== undefined)
      lane.entries.splice(entry.isVoid === true ? Number(isInFlight) : Infinity, 0, entry);
    else {
      lanes.set(name, { entries: [entry], failures: 0, notBeforeMs: 0 });
      ready.add(name);
    }
  }

  function take(atMs: number): InboxEntry | null {
    for (const name of waiting) {
      if ((lanes.get(name)?.notBeforeMs ?? 0) > atMs) continue;
      waiting.delete(name);
      ready.add(name);
    }
    if (inFlight >= (isGateClosed() ? 1 : concurrency)) return null;
    if (isGateClosed() && atMs < gateOpensAtMs) return null;
    const [name = ''] = ready;
    const entry = lanes.get(name)?.entries[0];
    if (entry === undefined) return null;
    ready.delete(name);
    inFlight += 1;
    return entry;
  }

  function done(entry: InboxEntry): void {
    const name = laneOf(entry);
    const lane = leave(name);
    lane.entries.shift();
    lane.failures = 0;
    known.delete(keyOf(entry));
    if (lane.entries.length === 0) lanes.delete(name);
    else ready.add(name);
    if (isGateClosed()) {
      for (const each of waiting) Object.assign(lanes.get(each) ?? {}, { notBeforeMs: 0 });
    }
    failuresInRow = 0;
  }

  function failed(entry: InboxEntry, atMs: number): number {
    const name = laneOf(entry);
    const lane = leave(name);
    // A void that arrived meanwhile does not wait for a delivery that keeps failing.
    lane.entries.sort((a, b) => Number(b.isVoid === true) - Number(a.isVoid === true));
    const waitMs = Math.min(MAX_BACKOFF_MS, firstBackoffMs * 2 ** Math.min(lane.failures, 16));
    lane.failures += 1;
    lane.notBeforeMs = atMs + waitMs;
    waiting.add(name);
    failuresInRow += 1;
    if (isGateClosed()) gateOpensAtMs = atMs + GATE_BACKOFFS * firstBackoffMs;
    return waitMs;
  }

  function leave(name: string): Lane {
    const lane = lanes.get(name);
    if (lane === undefined) throw new Error('The delivery is not in flight.');
    inFlight -= 1;
    return lane;
  }

  function nextAtMs(): number | null {
    const times = [...waiting].map((name) => lanes.get(name)?.notBeforeMs ?? 0);
    if (ready.size === 0 && times.length === 0) return null;
    const next = ready.size > 0 ? 0 : Math.min(...times);
    return isGateClosed() ? Math.max(next, gateOpensAtMs) : next;
  }

  return {
    add,
    isKnown: (key: string) => known.has(key),
    take,
    done,
    failed,
    nextAtMs,
    size: () => known.size,
    isGateClosed,
    isFailing: () => failuresInRow > 0,
    oldestReceivedAt(): string | null {
      const [oldest] = known.values();
      return oldest?.receivedAt ?? null;
    },
  };
}

function laneOf(entry: InboxEntry): string {
  return entry.kind === 'event' && entry.invoiceId !== null ? entry.invoiceId.toLowerCase() : keyOf(entry);
}
