/**
 * Tells a person what needs one, in the log and in every channel that is set up (alert-channels/); once per quiet window, and when it is over.
 *
 * An alert must never be the reason why something else fails: nothing here throws or makes its caller wait.
 */

import { dirname } from 'node:path';
import { durationMs } from '../config/setting-values.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics.ts';
import { visible } from '../wire/text.ts';
import {
  type Alert,
  type DecisionsOn,
  isOver,
  isQuieted,
  readAlertDecisions,
  recalled,
  remember,
  type Said,
} from './alert-store.ts';

import { type Notice, openChannels, postMessage } from './channels.ts';
import { type AlertKey, type AlertName, alertNameOf, anchorOf, RUNBOOK } from './runbook/runbook.ts';

/** So long something that is well again at once is still an alert: nobody would see one that is over in less than a second. */
export const SHOWN_FOR_MS = 15_000;

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

const NOTHING_DECIDED: DecisionsOn = () => ({ acknowledged: null, quieted: null });

export interface AlertLog {
  get(key: string): Said | undefined;
  put(said: Said): void;
  forget(key: string): void;
  /** What people decided, now. */
  decisions(): DecisionsOn;
  /** Writes it down, without what a person has seen and is over. */
  keep(): void;
}

/** Nothing here throws. @param memory the file; without it nothing is kept and nothing decided */
export function openSaidAlerts(
  memory: string | undefined,
  { log, metrics }: { readonly log: Logger; readonly metrics: Metrics | undefined },
): AlertLog {
  const said = new Map<string, Said>(memory === undefined ? [] : recalledOr(memory, log));
  const decided = memory === undefined ? null : readAlertDecisions(dirname(memory));
  const open = metrics?.gauge('alerts_open');
  const openByName = new Map<AlertName, number>();
  for (const key of said.keys()) count(key, 1);

  /** By name: a metric with an invoice's id as label would grow for ever. */
  function count(key: string, change: 1 | -1): void {
    const alert = alertNameOf(key);
    if (alert === null) return;
    const alike = (openByName.get(alert) ?? 0) + change;
    openByName.set(alert, alike);
    open?.set({ alert, severity: RUNBOOK[alert].severity }, alike);
  }

  /** What cannot be read must not keep an alert from being said. */
  function decisions(): DecisionsOn {
    try {
      return decided?.read() ?? NOTHING_DECIDED;
    } catch (error) {
      log.warn({ err: error }, 'what was decided on alerts cannot be read');
      return NOTHING_DECIDED;
    }
  }

  function forget(key: string): void {
    if (said.delete(key)) count(key, -1);
  }

  return {
    get: (key) => said.get(key),
    put(each) {
      if (!said.has(each.alert.key)) count(each.alert.key, 1);
      said.set(each.alert.key, each);
    },
    forget,
    decisions,
    keep() {
      if (memory === undefined) return;
      try {
        const decidedOn = decisions();
        for (const [key, known] of said) if (isOver(known, decidedOn(key))) forget(key);
        remember(memory, said);
      } catch (error) {
        log.error({ err: error }, 'the open alerts could not be kept: pages and commands may not list them');
      }
    },
  };
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
