/** No function here throws: an alert must not make anything else fail or wait. */

import { hostname } from 'node:os';
import { durationMs } from '../config/setting-values.ts';
import type { Settings } from '../config/settings.ts';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics.ts';
import { visible } from '../text.ts';
import { USER_FILES, type UserStore, userStore } from '../user-store.ts';
import {
  ALERTS,
  type AlertKey,
  type AlertName,
  alertNameOf,
  anchorOf,
  causeOf,
  type Severity,
  scopeOf,
} from './alert-names.ts';
import {
  type Alert,
  type AlertState,
  alertsIn,
  alertsText,
  applyChanges,
  type Change,
  type Due,
  NO_ALERTS,
} from './alert-store.ts';
import { type Notice, openChannels, postMessage } from './channels.ts';

/** An alert whose cause is over at once stays open for this long, so that people can see it. */
export const SHOWN_FOR_MS = 15_000;

export interface Alerts {
  /** @param subject in which this process found the cause, such as one invoice of many */
  raise(alert: Alert, subject?: string): void;
  /** Ends an alert of that check, or one of any check without it, when the cause was found in no other subject within an hour. */
  resolve(key: AlertKey, of?: { readonly check?: string | undefined; readonly subject?: string }): void;
  close(): Promise<void>;
}

interface AlertsOptions {
  readonly settings: Pick<Settings, 'alerts' | 'environment'>;
  readonly log: Logger;
  readonly scrub: (text: string) => string;
  readonly metrics?: Metrics;
  readonly now?: () => Date;
  /** Where open alerts are kept; without it they are lost with the process. */
  readonly store?: { readonly dataDir: string; readonly role: string };
  readonly retryAfterMs?: number;
}

const PAUSE_MS = 200;
/** Longer than the check of the disk takes to see it full. */
const CAUSE_MS = 3_000;
const SAME_CHANGE_MS = 10_000;
const RETRY_MS = 30_000;
const MAX_UNSTORED = 1_000;
const MAX_SUBJECTS = 10_000;
const SUBJECT_FORGOTTEN_MS = 3_600_000;

/** Returns the numbers of invoices by their ids in lower case; a number that several invoices have is left out. */
type InvoiceNumbers = (ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

const numbersIn = new Map<string, InvoiceNumbers>();

/** From then on, alerts of processes of this data folder name invoices by their numbers. @returns ends it */
export function registerInvoiceNumbers(dataDir: string, lookUp: InvoiceNumbers): () => void {
  numbersIn.set(dataDir, lookUp);
  return () => void numbersIn.delete(dataDir);
}

export function createAlerts(options: AlertsOptions): Alerts {
  const { settings, log, scrub, now = () => new Date(), retryAfterMs = 2_000 } = options;
  const channels = openChannels({ settings, post: (url, body) => postMessage(url, body, retryAfterMs) });
  const notices = options.metrics?.counter('alerts_total');
  const stored = openStore(options);
  const queue: (Change & { readonly queuedMs: number })[] = [];
  const subjects = new Map<string, Map<string, number>>();
  let timer: NodeJS.Timeout | undefined;
  let appliedMs = Number.NEGATIVE_INFINITY;
  let working: Promise<void> = Promise.resolve();
  let delivery: Promise<void> = Promise.resolve();

  function raise(alert: Alert, subject?: string): void {
    const atMs = now().getTime();
    if (subject !== undefined) {
      const found = subjects.get(alert.key) ?? new Map<string, number>();
      if (found.size < MAX_SUBJECTS || found.has(subject)) found.set(subject, atMs);
      subjects.set(alert.key, found);
    }
    const last = queue.findLast(({ key }) => key === alert.key);
    const isSame = last?.alert?.title === alert.title && last.alert.detail === alert.detail;
    if (last !== undefined && isSame && atMs - last.atMs < SAME_CHANGE_MS) last.count += 1;
    else add({ key: alert.key, alert, atMs, count: 1 });
  }

  function resolve(
    key: AlertKey,
    { check, subject }: { readonly check?: string | undefined; readonly subject?: string } = {},
  ): void {
    if (subject !== undefined && isFoundElsewhere(key, subject)) return;
    if (!stored.mayBeOpen(key) && !queue.some((change) => change.key === key)) return;
    add({ key, alert: null, check, atMs: now().getTime(), count: 0 });
  }

  function isFoundElsewhere(key: AlertKey, subject: string): boolean {
    const found = subjects.get(key);
    if (found === undefined) return false;
    found.delete(subject);
    const sinceMs = now().getTime() - SUBJECT_FORGOTTEN_MS;
    for (const [other, atMs] of found) if (atMs < sinceMs) found.delete(other);
    return found.size > 0;
  }

  function add(change: Change): void {
    queue.push({ ...change, queuedMs: performance.now() });
    timer ??= setTimeout(apply, Math.max(0, appliedMs + PAUSE_MS - performance.now())).unref();
  }

  /** A consequence waits, since its cause may be found a moment later; of what is due, causes come first. */
  function takeDue(isLast: boolean): readonly Change[] {
    const isCaused = ({ key }: Change): boolean => causeOf(key) !== null;
    const since = isLast ? Number.POSITIVE_INFINITY : performance.now() - CAUSE_MS;
    const young = new Set(
      queue.filter((change) => isCaused(change) && change.queuedMs > since).map(({ key }) => key),
    );
    const taken = queue.splice(0);
    queue.push(...taken.filter(({ key }) => young.has(key)));
    if (queue.length > 0) timer = setTimeout(apply, PAUSE_MS).unref();
    const due = taken.filter(({ key }) => !young.has(key));
    return [...due.filter((change) => !isCaused(change)), ...due.filter(isCaused)];
  }

  function apply(isLast = false): void {
    clearTimeout(timer);
    timer = undefined;
    appliedMs = performance.now();
    const due = takeDue(isLast);
    working = working.then(async () => {
      const changes = await withNumbers(due, options);
      for (const change of await stored.apply(changes)) send(change);
    });
  }

  function send({ isResolved, alert, atMs, repeated }: Due): void {
    const state = isResolved ? 'resolved' : 'raised';
    const notice: Notice = {
      ...{ at: new Date(atMs).toISOString(), state, key: alert.key, repeated, host: hostname() },
      severity: severityOf(alert.key),
      // `visible`, because a line break in the text of the service could imitate a log line.
      title: visible(scrub(alert.title)),
      detail: visible(scrub(alert.detail ?? '')),
      runbook: runbookOf(alert.key, settings.alerts.runbookUrl),
    };
    notices?.inc({ state });
    log[isResolved ? 'info' : 'warn']({ alert: notice }, `alert ${state}: ${notice.title}`);
    // Notices are sent one after the other, so that a resolved notice does not overtake its alert.
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
      apply(true);
      await working;
      stored.endRetries();
      await delivery;
    },
  };
}

const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;

/** Replaces ids by numbers. The id of an invoice without a number, or of something else, stays. */
async function withNumbers(
  changes: readonly Change[],
  { store, log }: AlertsOptions,
): Promise<readonly Change[]> {
  const lookUp = store === undefined ? undefined : numbersIn.get(store.dataDir);
  const texts = changes.flatMap(({ alert }) => (alert === null ? [] : [alert.title, alert.detail ?? '']));
  const ids = [...new Set(texts.flatMap((text) => text.match(UUID) ?? []).map((id) => id.toLowerCase()))];
  if (lookUp === undefined || ids.length === 0) return changes;
  try {
    const numbers = await lookUp(ids);
    const named = (text: string): string => text.replace(UUID, (id) => numbers.get(id.toLowerCase()) ?? id);
    return changes.map((change) => {
      const { alert } = change;
      if (alert === null) return change;
      const detail = alert.detail === undefined ? {} : { detail: named(alert.detail) };
      return { ...change, alert: { ...alert, title: named(alert.title), ...detail } };
    });
  } catch (error) {
    log.warn({ err: error }, 'the invoices of an alert could not be named');
    return changes;
  }
}

function severityOf(key: string): Severity | null {
  const name = alertNameOf(key);
  return name === null ? null : ALERTS[name].severity;
}

function runbookOf(key: string, url: string | null): string {
  const name = alertNameOf(key) ?? key;
  return url === null ? `billsync alerts explain ${name}` : `${url.replace(/#$/, '')}#${anchorOf(name)}`;
}

/** While the store fails, the open alerts are in memory and stored later. */
function openStore({ store, log, metrics, settings }: AlertsOptions) {
  const quietMs = durationMs(settings.alerts.quietWindow);
  let state = NO_ALERTS;
  let by = '';
  let isKnown = store === undefined;
  let unstored: readonly Change[] = [];
  let retry: NodeJS.Timeout | undefined;
  const gauge = metrics?.gauge('alerts_open');
  const measured = new Set<AlertName>();
  if (store !== undefined) {
    void refresh();
    metrics?.beforeRead(refresh, SAME_CHANGE_MS);
  }

  async function opened(): Promise<UserStore> {
    const { dataDir, role } = store ?? { dataDir: '', role: '' };
    const found = await userStore(dataDir);
    by = found.isShared ? `${role} on ${hostname()} (${dataDir})` : role;
    return found;
  }

  async function refresh(): Promise<void> {
    try {
      keep(alertsIn(await (await opened()).read(USER_FILES.alerts)));
    } catch (error) {
      log.warn({ err: error }, 'the open alerts cannot be read');
    }
  }

  function keep(found: AlertState): void {
    state = found;
    isKnown = true;
    const names = found.open.filter((entry) => entry.by === by).map(({ key }) => alertNameOf(key));
    for (const alert of new Set([...measured, ...names])) {
      if (alert === null) continue;
      measured.add(alert);
      // The metric has one series for each alert name, because a label with an invoice id would grow without limit.
      const count = names.filter((name) => name === alert).length;
      gauge?.set({ alert, severity: ALERTS[alert].severity }, count);
    }
  }

  async function apply(changes: readonly Change[]): Promise<readonly Due[]> {
    if (changes.length + unstored.length === 0) return [];
    let applied = applyChanges(state, changes, { by, quietMs });
    if (store !== undefined) {
      try {
        const file = await opened();
        const toText = (before: Buffer | null): string | null => {
          const found = alertsIn(before);
          const caughtUp = applyChanges(found, unstored, { by, quietMs });
          applied = applyChanges(caughtUp.state, changes, { by, quietMs });
          return applied.state === found ? null : alertsText(applied.state);
        };
        await file.change(USER_FILES.alerts, toText, { isFlushed: false });
        unstored = [];
      } catch (error) {
        if (unstored.length === 0) log.error({ err: error }, UNSTORED);
        applied = applyChanges(state, changes, { by, quietMs });
        unstored = [...unstored, ...changes].slice(-MAX_UNSTORED);
        clearTimeout(retry);
        retry = setTimeout(apply, RETRY_MS, []).unref();
      }
    }
    keep(applied.state);
    return applied.due;
  }

  return {
    apply,
    endRetries: (): void => clearTimeout(retry),
    /** Returns false when resolving the alert would change nothing. Another machine may have raised an alert of the scope `all`. */
    mayBeOpen(key: AlertKey): boolean {
      if (!isKnown || (store !== undefined && scopeOf(key) === 'all')) return true;
      return state.open.some((entry) => entry.key === key && (store === undefined || entry.by === by));
    },
  };
}

const UNSTORED = 'the open alerts could not be stored: pages and commands may not list them';
