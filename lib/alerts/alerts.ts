/**
 * Tells a person what needs one, in the log and in every channel that is set up (alert-channels/); once per quiet window, and when it is over.
 *
 * An alert must never be the reason why something else fails: nothing here throws or makes its caller wait.
 */

import { durationMs } from '../config/duration.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { visible } from '../wire/printable.ts';
import { isQuieted } from './alert-decisions.ts';
import { openSaidAlerts } from './alert-log.ts';
import type { Notice } from './channels/channel.ts';
import { openChannels } from './channels/channels.ts';
import { postMessage } from './channels/post-message.ts';
import { isOver } from './open-alerts.ts';
import { type AlertKey, alertNameOf, anchorOf } from './runbook/runbook.ts';

/** So long something that is well again at once is still an alert: nobody would see one that is over in less than a second. */
export const SHOWN_FOR_MS = 15_000;

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

interface AlertsOptions {
  readonly settings: Pick<Settings, 'alerts' | 'environment'>;
  readonly log: Logger;
  /** Takes secrets out of what leaves the process (lib/log/scrub.ts). */
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
}

/** Of this process; `deps.memory` is what makes them outlive it. Nothing they do throws. */
export function createAlerts(deps: AlertsOptions): Alerts {
  const { settings, log, scrub, now = () => new Date(), retryAfterMs = 2_000 } = deps;
  const quietMs = durationMs(settings.alerts.quietWindow);
  const channels = openChannels({ settings, post: (url, body) => postMessage(url, body, retryAfterMs) });
  const said = openSaidAlerts(deps.memory, { log, metrics: deps.metrics });
  const raised = deps.metrics?.counter('alerts_total');
  let isToKeep = false;
  let tail: Promise<void> = Promise.resolve();

  function raise(alert: Alert): void {
    const atMs = now().getTime();
    const decided = said.decisions()(alert.key);
    const known = said.get(alert.key);
    // A notice that somebody has seen is over; this is another.
    const before = known !== undefined && isOver(known, decided) ? undefined : known;
    const sinceMs = before?.sinceMs ?? atMs;
    const isQuietNow = isQuieted(decided, sinceMs, atMs);
    if (before !== undefined && (isQuietNow || atMs - before.atMs < quietMs)) {
      before.unsaid += 1;
      if (alert.title === before.alert.title && alert.detail === before.alert.detail) return;
      // Nobody is told again, and who looks reads how it is now.
      said.put({ ...before, alert });
      keepSoon();
      return;
    }
    said.put({ alert, atMs, sinceMs, unsaid: 0 });
    if (isQuietNow) keepSoon();
    else say('raised', alert, before?.unsaid ?? 0);
  }

  function resolve(key: AlertKey): void {
    const before = said.get(key);
    if (before === undefined) return;
    said.forget(key);
    say('resolved', before.alert, before.unsaid);
  }

  function say(state: Notice['state'], alert: Alert, repeated: number): void {
    const notice: Notice = {
      ...{ at: now().toISOString(), state, key: alert.key, repeated },
      // A line break of somebody else would begin a line that looks like ours.
      title: visible(scrub(alert.title)),
      detail: visible(scrub(alert.detail ?? '')),
      runbook: runbookOf(alert.key, settings.alerts.runbookUrl ?? null),
    };
    raised?.inc({ state });
    keepSoon();
    log[state === 'raised' ? 'warn' : 'info']({ alert: notice }, `alert ${state}: ${notice.title}`);
    // One after the other, so that a resolved notice never overtakes its alert.
    tail = tail.then(() => deliver(notice));
  }

  /** Once for all that are said before it comes to that. */
  function keepSoon(): void {
    if (isToKeep) return;
    isToKeep = true;
    tail = tail.then(() => {
      isToKeep = false;
      said.keep();
    });
  }

  async function deliver(notice: Notice): Promise<void> {
    const ends = await Promise.allSettled(channels.map(async ({ tell }) => tell(notice)));
    const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [scrub(String(end.reason))] : []));
    if (reasons.length > 0) log.error({ key: notice.key, reasons }, 'alert not sent');
  }

  return { raise, resolve, close: () => tail };
}

/** Where it stands what to do: an address, or the command that shows it where none is set. */
function runbookOf(key: string, url: string | null): string {
  const name = alertNameOf(key) ?? key;
  return url === null ? `billsync alerts explain ${name}` : `${url.replace(/#$/, '')}#${anchorOf(name)}`;
}
