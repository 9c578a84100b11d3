/** At least once, in order of arrival per invoice. It also takes deliveries that other processes put into the inbox. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { FsyncError } from '../lib/files/durable-files.ts';
import type { Health } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { ParsedDelivery } from '../lib/wire/parse-delivery.ts';
import { type ForwardDeps, forwardEntry } from './forward-entry.ts';
import { createForwardQueue } from './forward-queue.ts';
import { type InboxEntry, keyOf } from './inbox/inbox.ts';
import { alertRefused, type Refusal } from './receive-delivery.ts';

export interface ForwarderDeps extends ForwardDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly alerts?: Alerts;
  readonly health?: Health;
  /** The callback must end the process: after a failed fsync the kernel may have dropped the data. */
  readonly onFatal: (error: FsyncError) => void;
  readonly timing?: Partial<ForwarderTiming>;
}

export interface ForwarderTiming {
  readonly pollMs: number;
  readonly firstBackoffMs: number;
  readonly partnerGraceMs: number;
}

export type Forwarder = ReturnType<typeof startForwarder>;

const TIMING: ForwarderTiming = {
  pollMs: 1_000,
  firstBackoffMs: 1_000,
  partnerGraceMs: 30_000,
};
const STUCK_AGE_SECONDS = 15;
const ALERT_AGE_SECONDS = 10 * 60;
const LONG_BACKLOG = 5_000;
const MAX_PARSED = 64;
const MAX_PARSED_LENGTH = 64 * 1024;

export function startForwarder(deps: ForwarderDeps) {
  const { inbox, log, metrics, now = () => new Date() } = deps;
  const forwarded = metrics.counter('forwarded_total');
  const backlog = metrics.gauge('inbox_backlog');
  const backlogAge = metrics.gauge('inbox_backlog_age_seconds');
  const timing = { ...TIMING, ...deps.timing };
  const queue = createForwardQueue(timing);
  const parsedByKey = new Map<string, ParsedDelivery>();
  const startedMs = now().getTime();
  const inFlight = new Set<Promise<void>>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let lastPollMs = 0;
  /**
   * Whether deliveries are forwarded without a check of their partner; null while that is not known, because an earlier process may
   * have raised the alert.
   */
  let isUnchecked: boolean | null = null;

  const unsubscribe = inbox.onAccepted((entry, parsed) => {
    queue.add(entry);
    keepParsed(entry, parsed);
    pump();
  });
  const polling = pollForever();

  /** An event without a partner is parsed again, because ours may be known by then. */
  function keepParsed(entry: InboxEntry, parsed: ParsedDelivery | undefined): void {
    if (parsed?.kind !== 'event' || parsed.event.partnerId === '') return;
    if (parsedByKey.size < MAX_PARSED && parsed.envelope.length <= MAX_PARSED_LENGTH)
      parsedByKey.set(keyOf(entry), parsed);
  }

  function pump(): void {
    if (stopping.signal.aborted) return;
    clearTimeout(timer);
    const nowMs = now().getTime();
    if (!isHeld(nowMs)) {
      for (let entry = queue.take(nowMs); entry !== null; entry = queue.take(nowMs)) start(entry);
    }
    const nextMs = queue.nextAtMs();
    if (nextMs !== null && nextMs > nowMs) timer = setTimeout(pump, nextMs - nowMs).unref();
    measure(nowMs);
  }

  /** Foreign events cannot be recognized until our partner is known, so events wait, but not indefinitely. */
  function isHeld(nowMs: number): boolean {
    if (deps.partnerIds().length > 0) {
      if (isUnchecked !== false) deps.alerts?.resolve('forwarder/partner-unknown');
      isUnchecked = false;
      return false;
    }
    if (nowMs - startedMs < timing.partnerGraceMs) return true;
    if (isUnchecked !== true && queue.size() > 0) {
      isUnchecked = true;
      log.warn('our partner id is not known yet; deliveries are forwarded without checking it');
      deps.alerts?.raise({
        key: 'forwarder/partner-unknown',
        title: 'Deliveries are forwarded without a check of their partner',
        detail:
          'No token has been obtained since the start. Set BILLSYNC_PARTNER_ID, or run billsync doctor.',
      });
    }
    return false;
  }

  function start(entry: InboxEntry): void {
    const work = forward(entry).finally(() => {
      inFlight.delete(work);
      pump();
    });
    inFlight.add(work);
  }

  async function forward(entry: InboxEntry): Promise<void> {
    const key = keyOf(entry);
    const parsed = parsedByKey.get(key);
    parsedByKey.delete(key);
    try {
      const outcome = await forwardEntry(entry, { ...deps, onRefused }, parsed);
      queue.done(entry);
      forwarded.inc({ outcome });
    } catch (error) {
      const waitMs = queue.failed(entry, now().getTime());
      forwarded.inc({ outcome: 'failed' });
      // The line has no stack, because it repeats while Temporal is unreachable.
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      log.warn({ reason, eventId: entry.eventId, waitMs }, 'a delivery could not be forwarded; will retry');
      if (error instanceof FsyncError) deps.onFatal(error);
    }
  }

  function onRefused(refusal: Refusal): void {
    const { eventId, code } = refusal;
    log.warn({ eventId, code }, 'a delivery was quarantined when it was forwarded');
    alertRefused(deps.alerts, refusal);
  }

  async function pollForever(): Promise<void> {
    while (!stopping.signal.aborted) {
      const nowMs = now().getTime();
      if (queue.size() < LONG_BACKLOG || nowMs - lastPollMs > 10 * timing.pollMs) {
        lastPollMs = nowMs;
        await poll();
      }
      pump();
      await sleep(timing.pollMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  async function poll(): Promise<void> {
    try {
      for (const entry of await inbox.pending((key) => queue.isKnown(key))) queue.add(entry);
    } catch (error) {
      log.warn({ err: error }, 'the inbox cannot be read; will retry');
    }
  }

  function measure(nowMs: number): void {
    const count = queue.size();
    const oldest = queue.oldestReceivedAt();
    const ageSeconds = oldest === null ? 0 : Math.max(0, (nowMs - Date.parse(oldest)) / 1_000);
    backlog.set(count);
    backlogAge.set(ageSeconds);
    const isLate = ageSeconds > ALERT_AGE_SECONDS;
    const isStuck = queue.isFailing() && ageSeconds > STUCK_AGE_SECONDS;
    deps.health?.set('forwarder', {
      isHealthy: !queue.isGateClosed() && !isLate && !isStuck,
      detail: count === 0 ? '' : `${count} deliveries wait, the oldest for ${Math.round(ageSeconds)} s.`,
    });
    if (isLate) {
      deps.alerts?.raise({
        key: 'forwarder/backlog',
        title: `${count} deliveries are not forwarded to Temporal yet`,
        detail: 'They wait in the inbox. billsync doctor shows what cannot be reached.',
      });
    } else deps.alerts?.resolve('forwarder/backlog');
  }

  return {
    async close(): Promise<void> {
      unsubscribe();
      stopping.abort();
      clearTimeout(timer);
      await polling;
      await Promise.all(inFlight);
    },
  };
}

/** A delivery that waits longer is overdue: a running forwarder tries it within seconds, and again after a minute at most. */
const OVERDUE_AFTER_MS = 2 * 60_000;
const MAX_FAILURES = 5;

/**
 * For deliveries that an endpoint left behind. Safe beside any number of forwarders. @throws FsyncError the process
 * must end
 */
export async function forwardOverdue(deps: ForwardDeps & { readonly log: Logger }) {
  const { inbox, log, now = () => new Date() } = deps;
  const failed = new Set<string>();
  let forwarded = 0;
  let failures = 0;
  const limit = now().getTime() - OVERDUE_AFTER_MS;
  for (const entry of await inbox.pending()) {
    const lane = entry.invoiceId?.toLowerCase() ?? entry.eventId;
    if (Date.parse(entry.receivedAt) > limit || failed.has(lane)) continue;
    if (failures === MAX_FAILURES) break;
    try {
      const outcome = await forwardEntry(entry, deps);
      failures = 0;
      if (outcome !== 'gone') forwarded += 1;
    } catch (error) {
      if (error instanceof FsyncError) throw error;
      failures += 1;
      failed.add(lane);
      log.warn({ err: error, eventId: entry.eventId }, 'an overdue delivery could not be forwarded');
    }
  }
  const left = await inbox.pending();
  return { forwarded, waiting: left.length, oldestReceivedAt: left[0]?.receivedAt ?? null };
}
