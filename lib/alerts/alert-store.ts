import { z } from 'zod';
import { jsonOrNull } from '../text.ts';
import { USER_FILES, userStore } from '../user-store.ts';
import { type AlertKey, type AlertName, alertNameOf, causeOf, isNotice, scopeOf } from './alert-names.ts';

export interface Alert {
  readonly key: AlertKey;
  readonly title: string;
  readonly detail?: string;
  /** The only check that ends the alert; weaker ones do not look at its cause. */
  readonly check?: string;
}

const Decision = z.object({
  at: z.iso.datetime(),
  by: z.string(),
  note: z.string(),
});
export type Acknowledgement = Readonly<z.output<typeof Decision>>;

const Quiet = Decision.extend({
  until: z.iso.datetime(),
});
export type Quiet = Readonly<z.output<typeof Quiet>>;

const Stored = z
  .object({
    key: z.string(),
    title: z.string(),
    detail: z.string().optional(),
    check: z.string().optional(),
    by: z.string(),
    sinceMs: z.number(),
    noticeMs: z.number(),
    raisedMs: z.number(),
    repeated: z.number(),
    acknowledged: Decision.nullable(),
  })
  .readonly();
type Stored = z.output<typeof Stored>;

export interface AlertState {
  readonly open: readonly Stored[];
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

export function alertsText({ open, quiet }: AlertState): string {
  return `${JSON.stringify({ open: open.slice(-MAX_STORED), quiet })}\n`;
}

export interface Change {
  readonly key: AlertKey;
  /** `alert` is null when the cause of the alert is over. */
  readonly alert: Alert | null;
  /** The check that found the alert's cause to be over. */
  readonly check?: string | undefined;
  readonly atMs: number;
  count: number;
}

export interface Due {
  readonly isResolved: boolean;
  readonly alert: Alert;
  readonly atMs: number;
  readonly repeated: number;
}

interface Process {
  readonly by: string;
  readonly quietMs: number;
}

/** The alert of a machine that did not raise it for so long is over: the machine may be gone. */
const FORGOTTEN_AFTER_MS = 24 * 60 * 60_000;

export function applyChanges(
  before: AlertState,
  changes: readonly Change[],
  process: Process,
): { readonly state: AlertState; readonly due: readonly Due[] } {
  let state = before;
  const due: Due[] = [];
  for (const change of changes) {
    const scope = scopeOf(change.key);
    const same = state.open.filter(({ key }) => key === change.key);
    const mine = scope === 'all' ? same[0] : same.find(({ by }) => by === process.by);
    const related =
      scope === 'machine' ? same.filter(({ by }) => machineOf(by) === machineOf(process.by)) : same;
    const changed =
      change.alert === null
        ? afterResolve(state, change, { mine, related })
        : afterRaise(state, { ...change, ...process, alert: change.alert }, { mine, related });
    state = changed.state;
    if (changed.due !== null) due.push(changed.due);
  }
  return { state, due };
}

interface Earlier {
  readonly mine: Stored | undefined;
  readonly related: readonly Stored[];
}

interface Changed {
  readonly state: AlertState;
  readonly due: Due | null;
}

function afterRaise(
  state: AlertState,
  { alert, by, atMs, count, quietMs }: Change & Process & { readonly alert: Alert },
  { mine, related }: Earlier,
): Changed {
  const noticeMs = Math.max(0, ...related.map((entry) => entry.noticeMs));
  const acknowledged = related.find((entry) => entry.acknowledged !== null)?.acknowledged ?? null;
  const isQuiet =
    acknowledged !== null ||
    quietUntilMs(state, alert.key) > atMs ||
    atMs - noticeMs < quietMs ||
    hasOpenCause(state, alert.key, by);
  const repeated = mine?.repeated ?? 0;
  const entry: Stored = {
    ...(mine?.check === undefined ? {} : { check: mine.check }),
    ...{ ...alert, by, acknowledged, raisedMs: atMs },
    sinceMs: related[0]?.sinceMs ?? atMs,
    noticeMs: isQuiet ? noticeMs : atMs,
    repeated: isQuiet ? repeated + count : count - 1,
  };
  return {
    state: { ...state, open: [...withoutAlert(state.open, mine, atMs), entry] },
    due: isQuiet ? null : { isResolved: false, alert, atMs, repeated },
  };
}

function afterResolve(state: AlertState, { atMs, check }: Change, { mine, related }: Earlier): Changed {
  if (mine === undefined || (mine.check !== undefined && mine.check !== check)) return { state, due: null };
  const { key, title, detail, repeated } = mine;
  const alert = { key: key as AlertKey, title, ...(detail === undefined ? {} : { detail }) };
  return {
    state: { ...state, open: withoutAlert(state.open, mine, atMs) },
    // No message is sent while other processes still have the alert, or when its opening was never sent.
    due:
      related.length > 1 || mine.noticeMs === 0 || hasOpenCause(state, key, mine.by)
        ? null
        : { isResolved: true, alert, atMs, repeated },
  };
}

function hasOpenCause({ open }: AlertState, key: string, by: string): boolean {
  const cause = causeOf(key);
  return open.some((entry) => entry.key === cause && machineOf(entry.by) === machineOf(by));
}

/** The part of the text behind `on` is the machine; only a shared store has it. */
function machineOf(by: string): string {
  return by.slice(by.indexOf(' on ') + 1 || by.length);
}

function withoutAlert(
  open: readonly Stored[],
  removed: Stored | undefined,
  nowMs: number,
): readonly Stored[] {
  return open.filter(
    (entry) =>
      entry !== removed && (scopeOf(entry.key) === 'all' || nowMs - entry.raisedMs < FORGOTTEN_AFTER_MS),
  );
}

function quietUntilMs({ quiet }: AlertState, key: string): number {
  return Date.parse(quiet[key]?.until ?? '') || 0;
}

/** An alert about a past event is over then. Durable when it resolves. */
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

/** Alerts that are not open yet can be silenced too. The decision is durable when the promise resolves. */
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
  /** When the alert was raised, in ISO 8601 UTC. */
  readonly since: string;
  readonly role: string;
  /** The name of the alert's section in the runbook; null when it has none. */
  readonly name: AlertName | null;
  readonly acknowledged: Acknowledgement | null;
  readonly quieted: Quiet | null;
}

/** @throws the error of the user store, because "no alert" would be wrong */
export async function openAlerts(dataDir: string, now = new Date()): Promise<readonly OpenAlert[]> {
  const store = await userStore(dataDir);
  const state = alertsIn(await store.read(USER_FILES.alerts));
  const orderOf = ({ since, key }: OpenAlert): string => `${since} ${key}`;
  return joinedByCause(state)
    .map(({ key, title, detail = '', by, sinceMs, acknowledged }) => ({
      ...{ key, title, detail, role: by, name: alertNameOf(key), acknowledged },
      since: new Date(sinceMs).toISOString(),
      quieted: quietUntilMs(state, key) > now.getTime() ? (state.quiet[key] ?? null) : null,
    }))
    .sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1));
}

/** Returns one alert for each cause: an alert that several processes of a machine have is one. */
function joinedByCause({ open }: AlertState): readonly Stored[] {
  const place = ({ key, by }: Stored): string =>
    scopeOf(key) === 'machine' ? `${key} ${machineOf(by)}` : key;
  return [...new Map(open.map((entry) => [place(entry), entry])).values()];
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
