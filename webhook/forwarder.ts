/**
 * Brings every delivery of the inbox into the archive and into Temporal: at least once, in order of arrival per
 * invoice, for as long as it takes. It runs where the endpoint runs, and also takes what other processes put there.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Alerts } from '../lib/alerts/alerts.ts';
import { FsyncError } from '../lib/files/durable-files.ts';
import type { Health } from '../lib/health/health.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import { type ForwardDeps, forwardEntry, type Refusal } from './forward-entry.ts';
import { createForwardQueue } from './forward-queue.ts';
import type { InboxEntry } from './inbox/inbox.ts';
import { tellRefusal } from './receive-delivery.ts';

export interface ForwarderDeps extends ForwardDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly alerts?: Alerts;
  readonly health?: Health;
  /** Called when fsync failed (FsyncError); the process ends by default. */
  readonly onFatal?: (error: FsyncError) => void;
  readonly timing?: Partial<ForwarderTiming>;
}

export interface ForwarderTiming {
  /** How often the folder is looked at for what other processes put there. */
  readonly pollMs: number;
  readonly firstBackoffMs: number;
  readonly sendDeadlineMs: number;
  /** For how long events wait, after a start, for the partner to be known; then they are sent unchecked. */
  readonly partnerGraceMs: number;
  /** The age of the backlog from which the component is unhealthy, if sending fails. */
  readonly stuckAgeMs: number;
  /** From which age of the backlog on it is an alert. */
  readonly alertAgeMs: number;
  readonly concurrency: number;
}

export interface Forwarder {
  backlog(): {
    readonly count: number;
    readonly oldestReceivedAt: string | null;
    readonly ageSeconds: number;
  };
  /** Resolves when nothing waits any more: true, or when the time is over: false. */
  drain(withinMs?: number): Promise<boolean>;
  /** Finishes what is in flight and stops; the rest waits on disk for the next start. */
  close(): Promise<void>;
}

const TIMING: ForwarderTiming = {
  pollMs: 1_000,
  firstBackoffMs: 1_000,
  sendDeadlineMs: 5_000,
  partnerGraceMs: 30_000,
  stuckAgeMs: 15_000,
  alertAgeMs: 10 * 60_000,
  concurrency: 32,
};
/** With more than this waiting, reading the folder's names costs more than it can find. */
const LONG_BACKLOG = 5_000;

/** Starts forwarding; entries of an earlier life of this process are taken up first. */
export function startForwarder(deps: ForwarderDeps): Forwarder {
  const { inbox, log, metrics, now = () => new Date() } = deps;
  const forwarded = metrics.counter('forwarded_total');
  const backlog = metrics.gauge('inbox_backlog');
  const backlogAge = metrics.gauge('inbox_backlog_age_seconds');
  const timing = { ...TIMING, ...deps.timing };
  const queue = createForwardQueue(timing);
  const startedMs = now().getTime();
  const inFlight = new Set<Promise<void>>();
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let lastPollMs = 0;
  let isUnchecked = false;

  const stopListening = inbox.onAccepted((entry) => {
    queue.add(entry);
    pump();
  });
  const polling = pollForever();

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

  /** Until the partner is known, no event can be recognised as foreign, so events wait, but not indefinitely. */
  function isHeld(nowMs: number): boolean {
    if (deps.partnerIds().length > 0) {
      if (isUnchecked) deps.alerts?.resolve('forwarder/partner-unknown');
      isUnchecked = false;
      return false;
    }
    if (nowMs - startedMs < timing.partnerGraceMs) return true;
    if (!isUnchecked && queue.size > 0) {
      isUnchecked = true;
      log.warn('our partner id is not known yet; deliveries are forwarded without checking it');
      deps.alerts?.raise({
        key: 'forwarder/partner-unknown',
        title: 'Deliveries are forwarded without checking that they are for our partner.',
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
    try {
      const outcome = await forwardEntry(entry, { ...deps, onRefused }, { sendMs: timing.sendDeadlineMs });
      queue.done(entry);
      forwarded.inc({ outcome });
    } catch (error) {
      const waitMs = queue.failed(entry, now().getTime());
      forwarded.inc({ outcome: 'failed' });
      // Without the stack: while Temporal is away this line comes often, and says the same.
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      log.warn(
        { reason, eventId: entry.eventId, waitMs },
        'a delivery could not be forwarded; it is tried again',
      );
      if (error instanceof FsyncError) end(error);
    }
  }

  function onRefused(entry: InboxEntry, { code, reason }: Refusal): void {
    const { eventId, invoiceId } = entry;
    log.warn({ eventId, code }, 'a delivery was quarantined when it was forwarded');
    tellRefusal(deps.alerts, { code, message: reason, eventId, invoiceId });
  }

  function end(error: FsyncError): void {
    if (deps.onFatal !== undefined) {
      deps.onFatal(error);
      return;
    }
    log.fatal({ err: error }, 'the disk failed to store written data; ending, to start clean');
    process.exit(1);
  }

  async function pollForever(): Promise<void> {
    while (!stopping.signal.aborted) {
      const nowMs = now().getTime();
      if (queue.size < LONG_BACKLOG || nowMs - lastPollMs > 10 * timing.pollMs) {
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
      log.warn({ err: error }, 'the inbox cannot be read; it is tried again');
    }
  }

  function measure(nowMs: number): void {
    const { count, ageSeconds } = backlogAt(nowMs);
    backlog.set(count);
    backlogAge.set(ageSeconds);
    const isLate = ageSeconds * 1_000 > timing.alertAgeMs;
    const isStuck = queue.isFailing && ageSeconds * 1_000 > timing.stuckAgeMs;
    deps.health?.set('forwarder', {
      isHealthy: !queue.isGateClosed && !isLate && !isStuck,
      detail: count === 0 ? '' : `${count} deliveries wait, the oldest for ${Math.round(ageSeconds)} s.`,
    });
    if (isLate) {
      deps.alerts?.raise({
        key: 'forwarder/backlog',
        title: `${count} deliveries could not be passed on to Temporal yet; nothing is lost.`,
        detail: 'They wait in the inbox. billsync doctor says what cannot be reached.',
      });
    } else deps.alerts?.resolve('forwarder/backlog');
  }

  function backlogAt(nowMs: number): ReturnType<Forwarder['backlog']> {
    const oldestReceivedAt = queue.oldestReceivedAt();
    const ageSeconds =
      oldestReceivedAt === null ? 0 : Math.max(0, (nowMs - Date.parse(oldestReceivedAt)) / 1_000);
    return { count: queue.size, oldestReceivedAt, ageSeconds };
  }

  return {
    backlog: () => backlogAt(now().getTime()),
    async drain(withinMs = 30_000) {
      const untilMs = Date.now() + withinMs;
      await poll();
      pump();
      while (queue.size > 0) {
        if (Date.now() >= untilMs) return false;
        await sleep(20);
      }
      return true;
    },
    async close() {
      stopListening();
      stopping.abort();
      clearTimeout(timer);
      await polling;
      await Promise.all(inFlight);
    },
  };
}
