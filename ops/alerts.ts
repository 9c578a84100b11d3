/**
 * Tells a person what needs one, in the log and in every channel that is set up (alert-channels/); once per quiet window, and when it is over.
 *
 * An alert must never be the reason why something else fails: nothing here throws or makes its caller wait.
 */

import { dirname } from 'node:path';
import { request } from 'undici';
import { durationMs } from '../config/duration.js';
import type { Settings } from '../config/settings.js';
import { visible } from '../contract/printable.js';
import type { Notice } from './alert-channels/channel.js';
import { openChannels } from './alert-channels/channels.js';
import { type DecisionsOn, isQuieted, readAlertDecisions } from './alert-decisions.js';
import type { Logger } from './log.js';
import type { Metrics } from './metrics.js';
import { isOver, recalled, remember, type Said } from './open-alerts.js';
import { type AlertKey, type AlertName, alertNameOf, anchorOf, RUNBOOK } from './runbook/runbook.js';

export interface Alert {
  readonly key: AlertKey;
  /** One sentence a person understands. */
  readonly title: string;
  /** What was tried, what to do. */
  readonly detail?: string;
}

export interface Alerts {
  /** Says it once per quiet window, however often it is raised; then how often it was raised meanwhile. */
  raise(alert: Alert): void;
  /** Says that it is over, if it was ever said. */
  resolve(key: AlertKey): void;
  /** Resolves when all that was raised has been said, or given up. */
  close(): Promise<void>;
}

const NOTHING_DECIDED: DecisionsOn = () => ({ acknowledged: null, quieted: null });
const SEND_TIMEOUT_MS = 10_000;
const TRIES = 3;

/** @param deps.scrub takes secrets out of what leaves the process (ops/scrub.ts) */
export function createAlerts(deps: {
  readonly settings: Pick<Settings, 'alerts' | 'environment'>;
  readonly log: Logger;
  readonly scrub: (text: string) => string;
  readonly metrics?: Metrics;
  readonly now?: () => Date;
  /**
   * File in which what was said outlives the process, so that a restart neither repeats an alert within its quiet
   * window nor forgets to say that it is over.
   */
  readonly memory?: string;
  /** Between two tries of the chat's webhook. */
  readonly retryAfterMs?: number;
}): Alerts {
  const { settings, log, now = () => new Date(), retryAfterMs = 2_000 } = deps;
  const quietMs = durationMs(settings.alerts.quietWindow);
  const { memory } = deps;
  const channels = openChannels({ settings, post });
  const said = new Map<string, Said>(memory === undefined ? [] : recalledOr(memory, log));
  const decisions = memory === undefined ? null : readAlertDecisions(dirname(memory));
  let isToRemember = false;
  let tail: Promise<void> = Promise.resolve();
  const raised = deps.metrics?.counter('alerts_total');
  const open = deps.metrics?.gauge('alerts_open');
  const openByName = new Map<AlertName, number>();
  for (const key of said.keys()) count(key, 1);

  function raise(alert: Alert): void {
    const atMs = now().getTime();
    const decided = readDecisions()(alert.key);
    const known = said.get(alert.key);
    // A notice that somebody has seen is over; this is another.
    const before = known !== undefined && isOver(known, decided) ? undefined : known;
    const sinceMs = before?.sinceMs ?? before?.atMs ?? atMs;
    const isQuietNow = isQuieted(decided, sinceMs, atMs);
    if (before !== undefined && (isQuietNow || atMs - before.atMs < quietMs)) {
      before.unsaid += 1;
      if (alert.title === before.alert.title && alert.detail === before.alert.detail) return;
      // Nobody is told again, and who looks reads how it is now.
      said.set(alert.key, { ...before, alert });
      rememberSoon();
      return;
    }
    said.set(alert.key, { alert, atMs, sinceMs, unsaid: 0 });
    if (known === undefined) count(alert.key, 1);
    if (isQuietNow) rememberSoon();
    else say('raised', alert, before?.unsaid ?? 0);
  }

  /** What cannot be read must not keep an alert from being said. */
  function readDecisions(): DecisionsOn {
    try {
      return decisions?.read() ?? NOTHING_DECIDED;
    } catch (error) {
      log.warn({ err: error }, 'what was decided on alerts cannot be read');
      return NOTHING_DECIDED;
    }
  }

  function resolve(key: AlertKey): void {
    const before = said.get(key);
    if (before === undefined) return;
    forget(key);
    say('resolved', before.alert, before.unsaid);
  }

  function forget(key: string): void {
    if (said.delete(key)) count(key, -1);
  }

  /** By name: a metric with an invoice's id as label would grow for ever. */
  function count(key: string, change: 1 | -1): void {
    const alert = alertNameOf(key);
    if (alert === null) return;
    const alike = (openByName.get(alert) ?? 0) + change;
    openByName.set(alert, alike);
    open?.set({ alert, severity: RUNBOOK[alert].severity }, alike);
  }

  function say(state: Notice['state'], alert: Alert, repeated: number): void {
    const notice: Notice = {
      at: now().toISOString(),
      state,
      key: alert.key,
      // A line break of somebody else would begin a line that looks like ours.
      title: visible(deps.scrub(alert.title)),
      detail: visible(deps.scrub(alert.detail ?? '')),
      repeated,
      runbook: runbookOf(alert.key, settings.alerts.runbookUrl ?? null),
    };
    raised?.inc({ state });
    rememberSoon();
    log[state === 'raised' ? 'warn' : 'info']({ alert: notice }, `alert ${state}: ${notice.title}`);
    // One after the other, so that a resolved notice never overtakes its alert.
    tail = tail.then(() => deliver(notice)).catch((error: unknown) => complain(notice, error));
  }

  /** Once for all that are said before it comes to that. */
  function rememberSoon(): void {
    if (memory === undefined || isToRemember) return;
    isToRemember = true;
    tail = tail.then(() => {
      isToRemember = false;
      try {
        const decidedOn = readDecisions();
        for (const [key, known] of said) if (isOver(known, decidedOn(key))) forget(key);
        remember(memory, said);
      } catch (error) {
        log.error({ err: error }, 'the open alerts could not be kept: pages and commands may not list them');
      }
    });
  }

  async function deliver(notice: Notice): Promise<void> {
    const ends = await Promise.allSettled(channels.map(({ tell }) => tell(notice)));
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'An alert did not reach every channel.');
  }

  async function post(url: string, message: object): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { statusCode, body } = await request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(message),
          signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
        });
        await body.dump();
        if (statusCode < 300) return;
        throw new Error(`The alert webhook answered ${statusCode}.`);
      } catch (error) {
        if (attempt === TRIES) throw error;
        await new Promise((wake) => setTimeout(wake, retryAfterMs));
      }
    }
  }

  function complain(notice: Notice, error: unknown): void {
    const reasons = error instanceof AggregateError ? error.errors : [error];
    log.error(
      { key: notice.key, reasons: reasons.map((reason) => deps.scrub(String(reason))) },
      'alert not sent',
    );
  }

  return { raise, resolve, close: () => tail };
}

/** Where it stands what to do: an address, or the command that shows it where none is set. */
function runbookOf(key: string, url: string | null): string {
  const name = alertNameOf(key) ?? key;
  return url === null ? `billsync alerts explain ${name}` : `${url.replace(/#$/, '')}#${anchorOf(name)}`;
}

/** Without what an earlier life had said an alert may be repeated, which is better than no start. */
function recalledOr(memory: string, log: Logger): [string, Said][] {
  try {
    return recalled(memory);
  } catch (error) {
    log.warn({ err: error }, 'what was said before cannot be read; alerts may be repeated');
    return [];
  }
}
