/** The open alerts of all processes and the decisions of people on them: `alerts.json` of the user store. */

import { z } from 'zod';
import { USER_FILES, userStore } from '../user-store.ts';
import { type AlertKey, type AlertName, alertNameOf, isNotice, scopeOf } from './runbook/runbook.ts';

export interface Alert {
  readonly key: AlertKey;
  /** One sentence. */
  readonly title: string;
  /** Cause, and how to fix it. */
  readonly detail?: string;
}

const Decision = z.object({
  /** ISO 8601 UTC. */
  at: z.iso.datetime(),
  /** User name on this machine, or operator of the dashboard. */
  by: z.string(),
  note: z.string(),
});
export type Acknowledgement = Readonly<z.output<typeof Decision>>;

const Quiet = Decision.extend({
  /** The end; one in the past ends it. */
  until: z.iso.datetime(),
});
export type Quiet = Readonly<z.output<typeof Quiet>>;

const Stored = z
  .object({
    key: z.string(),
    title: z.string(),
    detail: z.string().optional(),
    /** The process that raised it last. */
    by: z.string(),
    sinceMs: z.number(),
    /** Time of the newest notice. */
    noticeMs: z.number(),
    /** When it was raised last, to a quarter of an hour. */
    raisedMs: z.number(),
    /** How often it was raised after the newest notice. */
    repeated: z.number(),
    acknowledged: Decision.nullable(),
  })
  .readonly();
type Stored = z.output<typeof Stored>;

export interface AlertState {
  readonly open: readonly Stored[];
  /** By key. */
  readonly quiet: Readonly<Record<string, Quiet>>;
}

export const NO_ALERTS: AlertState = { open: [], quiet: {} };
const MAX_STORED = 10_000;

/** Entries of another form are left out. */
export function alertsIn(file: Buffer | null): AlertState {
  const { open, quiet } = objectIn(jsonOrNull(String(file)));
  return {
    open: (Array.isArray(open) ? open : []).flatMap((entry) => Stored.safeParse(entry).data ?? []),
    quiet: Object.fromEntries(
      Object.entries(objectIn(quiet)).flatMap(([key, entry]) => {
        const { data } = Quiet.safeParse(entry);
        return data === undefined ? [] : [[key, data]];
      }),
    ),
  };
}

/** The text of the file; the newest alerts are kept. */
export function alertsText({ open, quiet }: AlertState): string {
  return `${JSON.stringify({ open: open.slice(-MAX_STORED), quiet })}\n`;
}

/** A change of the open alerts by one process. */
export interface Change {
  readonly key: AlertKey;
  /** null: it is over. */
  readonly alert: Alert | null;
  readonly atMs: number;
  /** How often it was raised before, since this process wrote to the store. */
  readonly repeated: number;
}

type ChangeBy = Change & { readonly by: string };

export interface ChangedAlerts {
  readonly state: AlertState;
  /** The notice to send; null: none. */
  readonly notice: { readonly alert: Alert; readonly repeated: number } | null;
}

/** How long an unchanged alert is not written again. */
const RENEW_MS = 15 * 60_000;
/** The alert of a machine that did not raise it for so long is over: the machine may be gone. */
const FORGOTTEN_AFTER_MS = 24 * 60 * 60_000;

/**
 * Raises the alert of a change, or resolves it for `alert: null`.
 *
 * @param quietMs minimum time between two notices of an alert
 * @returns the same state when nothing has changed
 */
export function applyChange(state: AlertState, change: ChangeBy, quietMs: number): ChangedAlerts {
  const scope = scopeOf(change.key);
  const same = state.open.filter(({ key }) => key === change.key);
  const mine = scope === 'all' ? same[0] : same.find(({ by }) => by === change.by);
  const related = scope === 'machine' ? same.filter((entry) => entry === mine) : same;
  return change.alert === null
    ? resolved(state, change, { mine, related })
    : raised(state, { ...change, alert: change.alert }, { mine, related, quietMs });
}

interface Earlier {
  readonly mine: Stored | undefined;
  /** The entries that share their notices, `mine` included. */
  readonly related: readonly Stored[];
}

function raised(
  state: AlertState,
  { alert, by, atMs, repeated }: ChangeBy & { readonly alert: Alert },
  { mine, related, quietMs }: Earlier & { readonly quietMs: number },
): ChangedAlerts {
  const noticeMs = Math.max(...related.map((entry) => entry.noticeMs));
  const acknowledged = related.find((entry) => entry.acknowledged !== null)?.acknowledged ?? null;
  const isQuiet = acknowledged !== null || quietUntilMs(state, alert.key) > atMs || atMs - noticeMs < quietMs;
  const isSame = mine !== undefined && alert.title === mine.title && alert.detail === mine.detail;
  if (isQuiet && isSame && atMs - mine.raisedMs < RENEW_MS) return { state, notice: null };
  const before = (mine?.repeated ?? 0) + repeated;
  const entry: Stored = {
    ...alert,
    by,
    sinceMs: related[0]?.sinceMs ?? atMs,
    noticeMs: isQuiet ? Math.max(noticeMs, mine?.noticeMs ?? 0) : atMs,
    raisedMs: atMs,
    repeated: isQuiet ? before + 1 : 0,
    acknowledged,
  };
  return {
    state: { ...state, open: [...without(state.open, mine, atMs), entry] },
    notice: isQuiet ? null : { alert, repeated: before },
  };
}

function resolved(state: AlertState, { atMs, repeated }: Change, { mine, related }: Earlier): ChangedAlerts {
  if (mine === undefined) return { state, notice: null };
  const { title, detail } = mine;
  const alert: Alert = { key: mine.key as AlertKey, title, ...(detail === undefined ? {} : { detail }) };
  return {
    state: { ...state, open: without(state.open, mine, atMs) },
    // The others still have it.
    notice: related.length > 1 ? null : { alert, repeated: mine.repeated + repeated },
  };
}

function without(open: readonly Stored[], removed: Stored | undefined, nowMs: number): readonly Stored[] {
  return open.filter(
    (entry) =>
      entry !== removed && (scopeOf(entry.key) === 'all' || nowMs - entry.raisedMs < FORGOTTEN_AFTER_MS),
  );
}

function quietUntilMs({ quiet }: AlertState, key: string): number {
  return Date.parse(quiet[key]?.until ?? '') || 0;
}

/** Records that a person works on alerts; an alert about a past event is over then. Durable when it resolves. */
export function acknowledgeAlerts(
  dataDir: string,
  keys: readonly string[],
  acknowledged: Acknowledgement,
): Promise<void> {
  return decide(dataDir, ({ open, quiet }) => ({
    quiet,
    open: open
      .filter(({ key }) => !(keys.includes(key) && isNotice(key)))
      .map((entry) => (keys.includes(entry.key) ? { ...entry, acknowledged } : entry)),
  }));
}

/** Sends no notice of these alerts until a time, even if they are not open yet. Durable when it resolves. */
export function quietAlerts(dataDir: string, keys: readonly string[], decision: Quiet): Promise<void> {
  return decide(dataDir, ({ open, quiet }) => ({
    open,
    quiet: { ...quiet, ...Object.fromEntries(keys.map((key) => [key, decision])) },
  }));
}

async function decide(dataDir: string, to: (state: AlertState) => AlertState): Promise<void> {
  const store = await userStore(dataDir);
  await store.change(USER_FILES.alerts, (before) => alertsText(to(alertsIn(before))));
}

export interface OpenAlert {
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** The process that raised it last. */
  readonly role: string;
  /** Its page in the runbook; null: none. */
  readonly name: AlertName | null;
  readonly acknowledged: Acknowledgement | null;
  readonly quieted: Quiet | null;
}

/**
 * The open alerts of all processes, newest first.
 *
 * @throws the error of the user store, because "no alert" would be wrong
 */
export async function openAlerts(dataDir: string, now = new Date()): Promise<readonly OpenAlert[]> {
  const store = await userStore(dataDir);
  const state = alertsIn(await store.read(USER_FILES.alerts));
  const orderOf = ({ since, key }: OpenAlert): string => `${since} ${key}`;
  return joined(state)
    .map(({ key, title, detail = '', by, sinceMs, acknowledged }) => ({
      ...{ key, title, detail, role: by, name: alertNameOf(key), acknowledged },
      since: new Date(sinceMs).toISOString(),
      quieted: quietUntilMs(state, key) > now.getTime() ? (state.quiet[key] ?? null) : null,
    }))
    .sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1));
}

/** The alert that several processes have is one. */
function joined({ open }: AlertState): readonly Stored[] {
  const shared = new Map(
    open.filter(({ key }) => scopeOf(key) !== 'machine').map((entry) => [entry.key, entry]),
  );
  return [...shared.values(), ...open.filter(({ key }) => scopeOf(key) === 'machine')];
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
