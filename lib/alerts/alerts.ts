/**
 * Alerts for people, in the log and in every configured channel: once per quiet window, and when the cause is over. The same
 * alert of several processes and machines is one.
 *
 * An alert must not make anything else fail or wait, so no function here throws.
 */

import { hostname } from 'node:os';
import { durationMs } from '../config/setting-values.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics.ts';
import { USER_FILES, userStore } from '../user-store.ts';
import { visible } from '../wire/text.ts';
import {
  type Alert,
  type AlertState,
  alertsIn,
  alertsText,
  applyChange,
  type Change,
  type ChangedAlerts,
  NO_ALERTS,
} from './alert-store.ts';
import { type Notice, openChannels, postMessage } from './channels.ts';
import { type AlertKey, type AlertName, alertNameOf, anchorOf, RUNBOOK, scopeOf } from './runbook/runbook.ts';

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
  /** Where the alerts of all processes are, and the name of this one; without it they are lost with the process. */
  readonly store?: { readonly dataDir: string; readonly role: string };
  /** Between two attempts to post to a chat. */
  readonly retryAfterMs?: number;
}

/** The same alert is counted for so long before the store is read again. */
const COUNTED_MS = 10_000;
/** Several causes that are over at once are written together. */
const RESOLVE_DELAY_MS = 500;
/** After the store could not be written. */
const RETRY_MS = 30_000;
const MAX_UNSTORED = 1_000;

export function createAlerts(options: AlertsOptions): Alerts {
  const { settings, log, scrub, now = () => new Date(), retryAfterMs = 2_000 } = options;
  const quietMs = durationMs(settings.alerts.quietWindow);
  const channels = openChannels({ settings, post: (url, body) => postMessage(url, body, retryAfterMs) });
  const notices = options.metrics?.counter('alerts_total');
  const stored = openStore(options, quietMs);
  const counted = new Map<string, { readonly alert: Alert; readonly untilMs: number; repeated: number }>();
  const queue: Change[] = [];
  let timer: NodeJS.Timeout | undefined;
  let working: Promise<void> = Promise.resolve();
  let delivery: Promise<void> = Promise.resolve();

  function raise(alert: Alert): void {
    const atMs = now().getTime();
    const before = counted.get(alert.key);
    const { repeated = 0 } = before ?? {};
    if (before !== undefined && before.untilMs > atMs && isSame(before.alert, alert)) {
      before.repeated += 1;
      return;
    }
    counted.set(alert.key, { alert, untilMs: atMs + COUNTED_MS, repeated: 0 });
    queue.push({ key: alert.key, alert, atMs, repeated });
    applySoon(0);
  }

  function resolve(key: AlertKey): void {
    const { repeated = 0 } = counted.get(key) ?? {};
    counted.delete(key);
    const isQueued = queue.some((change) => change.key === key);
    if (!isQueued && !stored.mayBeOpen(key)) return;
    queue.push({ key, alert: null, atMs: now().getTime(), repeated });
    applySoon(RESOLVE_DELAY_MS);
  }

  function applySoon(delayMs: number): void {
    if (delayMs > 0) {
      timer ??= setTimeout(applySoon, delayMs, 0).unref();
      return;
    }
    clearTimeout(timer);
    timer = undefined;
    working = working.then(applyQueued);
  }

  async function applyQueued(): Promise<void> {
    const changes = queue.splice(0);
    if (changes.length === 0) return;
    const results = await stored.apply(changes);
    for (const [index, { notice, isWritten }] of results.entries()) {
      const change = changes[index] as Change;
      const { key, alert, repeated } = change;
      const entry = counted.get(key);
      if (notice !== null) send(change, notice);
      else if (alert !== null && !isWritten && entry !== undefined) entry.repeated += repeated + 1;
    }
  }

  function send(change: Change, { alert, repeated }: NonNullable<ChangedAlerts['notice']>): void {
    const state = change.alert === null ? 'resolved' : 'raised';
    const notice: Notice = {
      ...{ at: new Date(change.atMs).toISOString(), state, key: alert.key, repeated },
      // `visible`, because a line break in the text of the service could imitate a log line.
      title: visible(scrub(alert.title)),
      detail: visible(scrub(alert.detail ?? '')),
      runbook: runbookOf(alert.key, settings.alerts.runbookUrl ?? null),
    };
    notices?.inc({ state });
    log[state === 'raised' ? 'warn' : 'info']({ alert: notice }, `alert ${state}: ${notice.title}`);
    // In order, so that a resolved notice does not overtake its alert.
    delivery = delivery.then(() => deliver(notice));
  }

  async function deliver(notice: Notice): Promise<void> {
    const results = await Promise.allSettled(channels.map(async (channel) => channel.send(notice)));
    const reasons = results.flatMap((result) =>
      result.status === 'rejected' ? [scrub(String(result.reason))] : [],
    );
    if (reasons.length > 0) log.error({ key: notice.key, reasons }, 'alert not sent');
  }

  return {
    raise,
    resolve,
    async close() {
      applySoon(0);
      await working;
      await delivery;
    },
  };
}

function isSame(one: Alert, other: Alert): boolean {
  return one.title === other.title && one.detail === other.detail;
}

function runbookOf(key: string, url: string | null): string {
  const name = alertNameOf(key) ?? key;
  return url === null ? `billsync alerts explain ${name}` : `${url.replace(/#$/, '')}#${anchorOf(name)}`;
}

interface Applied {
  readonly state: AlertState;
  readonly results: readonly { readonly notice: ChangedAlerts['notice']; readonly isWritten: boolean }[];
}

/** The open alerts as this process knows them. While the store fails, they are in memory and written later. */
function openStore({ store, log, metrics }: AlertsOptions, quietMs: number) {
  let state = NO_ALERTS;
  let by = '';
  let isKnown = store === undefined;
  let unstored: readonly Change[] = [];
  let retry: NodeJS.Timeout | undefined;
  const gauge = metrics?.gauge('alerts_open');
  const measured = new Set<AlertName>();
  if (store !== undefined) {
    void refresh();
    metrics?.beforeRead(refresh, COUNTED_MS);
  }

  async function opened() {
    const { dataDir, role } = store ?? { dataDir: '', role: '' };
    const found = await userStore(dataDir);
    by = found.isShared ? `${role} on ${hostname()} (${dataDir})` : role;
    return found;
  }

  async function refresh(): Promise<void> {
    try {
      keep(alertsIn(await (await opened()).read(USER_FILES.alerts)));
      isKnown = true;
    } catch (error) {
      log.warn({ err: error }, 'the open alerts cannot be read');
    }
  }

  function keep(found: AlertState): void {
    state = found;
    const names = found.open.filter((entry) => entry.by === by).map(({ key }) => alertNameOf(key));
    for (const alert of new Set([...measured, ...names])) {
      if (alert === null) continue;
      measured.add(alert);
      // By name, because a label with an invoice id would grow without limit.
      const count = names.filter((name) => name === alert).length;
      gauge?.set({ alert, severity: RUNBOOK[alert].severity }, count);
    }
  }

  function applyAll(before: AlertState, changes: readonly Change[]): Applied {
    let after = before;
    const results = changes.map((change) => {
      const changed = applyChange(after, { ...change, by }, quietMs);
      const isWritten = changed.state !== after;
      after = changed.state;
      return { notice: changed.notice, isWritten };
    });
    return { state: after, results };
  }

  async function apply(changes: readonly Change[]): Promise<Applied['results']> {
    let applied = applyAll(state, changes);
    if (store !== undefined) {
      try {
        const file = await opened();
        await file.change(
          USER_FILES.alerts,
          (before) => {
            const found = alertsIn(before);
            applied = applyAll(applyAll(found, unstored).state, changes);
            return applied.state === found ? null : alertsText(applied.state);
          },
          { isFlushed: false },
        );
        unstored = [];
        isKnown = true;
      } catch (error) {
        if (unstored.length === 0) log.error({ err: error }, UNSTORED);
        applied = applyAll(state, changes);
        unstored = [...unstored, ...changes].slice(-MAX_UNSTORED);
        clearTimeout(retry);
        retry = setTimeout(apply, RETRY_MS, []).unref();
      }
    }
    keep(applied.state);
    return applied.results;
  }

  return {
    apply,
    /** false: resolving it would change nothing. Another machine may have raised what all of them resolve. */
    mayBeOpen(key: AlertKey): boolean {
      if (!isKnown || (store !== undefined && scopeOf(key) === 'all')) return true;
      return state.open.some((entry) => entry.key === key && (store === undefined || entry.by === by));
    },
  };
}

const UNSTORED = 'the open alerts could not be stored: pages and commands may not list them';
