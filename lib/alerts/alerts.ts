/**
 * Alerts for people, in the log and in every configured channel: once per quiet window, and when the cause is over.
 *
 * An alert must not make anything else fail or wait, so no function here throws.
 */

import { dirname } from 'node:path';
import { durationMs } from '../config/setting-values.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics.ts';
import { visible } from '../wire/text.ts';
import {
  type Alert,
  type AlertDecisions,
  alertDecisions,
  isOver,
  isQuiet,
  NO_DECISIONS,
  readStoredAlerts,
  type StoredAlert,
  storeAlerts,
} from './alert-store.ts';
import { type Notice, openChannels, postMessage } from './channels.ts';
import { type AlertKey, type AlertName, alertNameOf, anchorOf, RUNBOOK } from './runbook/runbook.ts';

/** An alert whose cause is over at once stays open for this long, so that people can see it. */
export const SHOWN_FOR_MS = 15_000;

export interface Alerts {
  /** Sends a notice once per quiet window, with the number of repetitions. */
  raise(alert: Alert): void;
  /** Sends that the alert is over, if it is open. */
  resolve(key: AlertKey): void;
  /** Resolves when all notices are sent or have failed. */
  close(): Promise<void>;
}

interface AlertsOptions {
  readonly settings: Pick<Settings, 'alerts' | 'environment'>;
  readonly log: Logger;
  /** Removes secrets (lib/log/scrub.ts). */
  readonly scrub: (text: string) => string;
  readonly metrics?: Metrics;
  readonly now?: () => Date;
  /** File of the open alerts: after a restart, alerts are neither repeated in their quiet window nor left open. */
  readonly storePath?: string;
  /** Between two attempts to post to a chat. */
  readonly retryAfterMs?: number;
}

export function createAlerts(options: AlertsOptions): Alerts {
  const { settings, log, scrub, now = () => new Date(), retryAfterMs = 2_000 } = options;
  const quietMs = durationMs(settings.alerts.quietWindow);
  const channels = openChannels({ settings, post: (url, body) => postMessage(url, body, retryAfterMs) });
  const open = openStore(options);
  const notices = options.metrics?.counter('alerts_total');
  let isStoring = false;
  let tail: Promise<void> = Promise.resolve();

  function raise(alert: Alert): void {
    const atMs = now().getTime();
    const decisions = open.decisionsOn(alert.key);
    const stored = open.get(alert.key);
    const before = stored !== undefined && isOver(stored, decisions) ? undefined : stored;
    const sinceMs = before?.sinceMs ?? atMs;
    const quiet = isQuiet(decisions, sinceMs, atMs);
    if (before !== undefined && (quiet || atMs - before.atMs < quietMs)) {
      before.repeated += 1;
      if (alert.title === before.alert.title && alert.detail === before.alert.detail) return;
      // Lists show the current text, although no notice is sent.
      open.set({ ...before, alert });
      storeSoon();
      return;
    }
    open.set({ alert, atMs, sinceMs, repeated: 0 });
    if (quiet) storeSoon();
    else send('raised', alert, before?.repeated ?? 0);
  }

  function resolve(key: AlertKey): void {
    const before = open.get(key);
    if (before === undefined) return;
    open.remove(key);
    send('resolved', before.alert, before.repeated);
  }

  function send(state: Notice['state'], alert: Alert, repeated: number): void {
    const notice: Notice = {
      ...{ at: now().toISOString(), state, key: alert.key, repeated },
      // `visible`, because a line break in the text of the service could imitate a log line.
      title: visible(scrub(alert.title)),
      detail: visible(scrub(alert.detail ?? '')),
      runbook: runbookOf(alert.key, settings.alerts.runbookUrl ?? null),
    };
    notices?.inc({ state });
    storeSoon();
    log[state === 'raised' ? 'warn' : 'info']({ alert: notice }, `alert ${state}: ${notice.title}`);
    // In order, so that a resolved notice does not overtake its alert.
    tail = tail.then(() => deliver(notice));
  }

  function storeSoon(): void {
    if (isStoring) return;
    isStoring = true;
    tail = tail.then(() => {
      isStoring = false;
      open.store();
    });
  }

  async function deliver(notice: Notice): Promise<void> {
    const results = await Promise.allSettled(channels.map(async (channel) => channel.send(notice)));
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' ? [scrub(String(result.reason))] : [],
    );
    if (reasons.length > 0) log.error({ key: notice.key, reasons }, 'alert not sent');
  }

  return { raise, resolve, close: () => tail };
}

function runbookOf(key: string, url: string | null): string {
  const name = alertNameOf(key) ?? key;
  return url === null ? `billsync alerts explain ${name}` : `${url.replace(/#$/, '')}#${anchorOf(name)}`;
}

/** The open alerts of this process, with their metric and their file. */
function openStore({ storePath, log, metrics }: AlertsOptions) {
  const alerts = new Map<string, StoredAlert>(readStored());
  const readDecisions = storePath === undefined ? null : alertDecisions(dirname(storePath));
  const gauge = metrics?.gauge('alerts_open');
  const openByName = new Map<AlertName, number>();
  for (const key of alerts.keys()) count(key, 1);

  function readStored(): [string, StoredAlert][] {
    try {
      return storePath === undefined ? [] : readStoredAlerts(storePath);
    } catch (error) {
      log.warn({ err: error }, 'the stored alerts cannot be read; alerts may be repeated');
      return [];
    }
  }

  /** By name, because a label with an invoice id would grow without limit. */
  function count(key: string, change: 1 | -1): void {
    const alert = alertNameOf(key);
    if (alert === null) return;
    openByName.set(alert, (openByName.get(alert) ?? 0) + change);
    gauge?.set({ alert, severity: RUNBOOK[alert].severity }, openByName.get(alert) ?? 0);
  }

  function decisionsOn(key: string): AlertDecisions {
    try {
      return readDecisions?.()(key) ?? NO_DECISIONS;
    } catch (error) {
      log.warn({ err: error }, 'the decisions on alerts cannot be read');
      return NO_DECISIONS;
    }
  }

  function remove(key: string): void {
    if (alerts.delete(key)) count(key, -1);
  }

  return {
    decisionsOn,
    remove,
    get: (key: string) => alerts.get(key),
    set(stored: StoredAlert): void {
      if (!alerts.has(stored.alert.key)) count(stored.alert.key, 1);
      alerts.set(stored.alert.key, stored);
    },
    store(): void {
      if (storePath === undefined) return;
      try {
        for (const [key, stored] of alerts) if (isOver(stored, decisionsOn(key))) remove(key);
        storeAlerts(storePath, alerts);
      } catch (error) {
        log.error(
          { err: error },
          'the open alerts could not be stored: pages and commands may not list them',
        );
      }
    },
  };
}
