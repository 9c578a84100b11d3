/**
 * The files of alerts in `run` of the data folder: each process keeps its open alerts in `alerts-ROLE.json`, and the
 * decisions of people are appended to one journal, since a command and the dashboard may write at once.
 */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { appendDurably, makeFolder } from '../files/durable-files.ts';
import { namesIn, replaceFile } from '../files/files.ts';
import { systemCode } from '../system-errors.ts';
import { type AlertKey, type AlertName, alertNameOf, isNotice } from './runbook/runbook.ts';

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
  /** Key of the alert. */
  key: z.string(),
  kind: z.enum(['acknowledged', 'quieted']),
  /** End of `quieted`; one in the past ends it. */
  until: z.iso.datetime().nullable(),
  /** User name on this machine, or operator of the dashboard. */
  by: z.string(),
  note: z.string(),
});
export type AlertDecision = Readonly<z.output<typeof Decision>>;

/** The newest decision of each kind. */
export interface AlertDecisions {
  readonly acknowledged: AlertDecision | null;
  readonly quieted: AlertDecision | null;
}

const JOURNAL = 'alert-decisions.ndjson';
export const NO_DECISIONS: AlertDecisions = { acknowledged: null, quieted: null };

/** Durable when it resolves. @param folder `run` of the data folder @throws the system's error */
export async function decideOnAlerts(folder: string, decisions: readonly AlertDecision[]): Promise<void> {
  await makeFolder(folder);
  // Begins with a line end, so that a line that was cut off by a full disk stays separate.
  const lines = decisions.map((decision) => `\n${JSON.stringify(decision)}`);
  await appendDurably(join(folder, JOURNAL), `${lines.join('')}\n`);
}

/** Reads the journal again when it has changed. @returns a function that throws the system's error */
export function alertDecisions(folder: string): () => (key: string) => AlertDecisions {
  const path = join(folder, JOURNAL);
  let readStamp = '';
  let byKey: ReadonlyMap<string, AlertDecisions> = new Map();
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    const stamp = found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`;
    if (stamp !== readStamp) byKey = newestDecisions(readIfThere(path));
    readStamp = stamp;
    return (key) => byKey.get(key) ?? NO_DECISIONS;
  };
}

/** Whether the alert, open since `sinceMs`, is acknowledged or silenced at `nowMs`. */
export function isQuiet({ acknowledged, quieted }: AlertDecisions, sinceMs: number, nowMs: number): boolean {
  return isAcknowledged(acknowledged, sinceMs) || Date.parse(quieted?.until ?? '') > nowMs;
}

function isAcknowledged(decision: AlertDecision | null, sinceMs: number): boolean {
  return decision !== null && Date.parse(decision.at) >= sinceMs;
}

function newestDecisions(text: string): ReadonlyMap<string, AlertDecisions> {
  const found = new Map<string, AlertDecisions>();
  for (const line of text.split('\n')) {
    const decision = Decision.safeParse(jsonOrNull(line)).data;
    if (decision === undefined) continue;
    found.set(decision.key, { ...(found.get(decision.key) ?? NO_DECISIONS), [decision.kind]: decision });
  }
  return found;
}

const Stored = z.object({
  alert: z.object({ key: z.string(), title: z.string(), detail: z.string().optional() }),
  /** Time of the newest notice. */
  atMs: z.number(),
  sinceMs: z.number(),
  /** How often it was raised after that notice. */
  repeated: z.number(),
});

export interface StoredAlert extends Readonly<Omit<z.output<typeof Stored>, 'alert' | 'repeated'>> {
  readonly alert: Alert;
  repeated: number;
}

/** A notice about a past event is over when it is acknowledged. */
export function isOver({ alert, atMs }: StoredAlert, { acknowledged }: AlertDecisions): boolean {
  return isNotice(alert.key) && isAcknowledged(acknowledged, atMs);
}

const MAX_STORED = 10_000;

/** Keeps the newest. @throws the system's error */
export function storeAlerts(path: string, alerts: ReadonlyMap<string, StoredAlert>): void {
  replaceFile(path, `${JSON.stringify([...alerts.values()].slice(-MAX_STORED))}\n`);
}

/** The open alerts of an earlier run of the process; entries of another form are left out. @throws the system's error */
export function readStoredAlerts(path: string): [string, StoredAlert][] {
  const entries = jsonOrNull(readIfThere(path));
  return (Array.isArray(entries) ? entries : []).flatMap((entry): [string, StoredAlert][] => {
    const { data } = Stored.safeParse(entry);
    return data === undefined ? [] : [[data.alert.key, data as unknown as StoredAlert]];
  });
}

export interface OpenAlert {
  readonly key: string;
  readonly title: string;
  readonly detail: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** The process that raised it. */
  readonly role: string;
  /** Its page in the runbook; null: none. */
  readonly name: AlertName | null;
  readonly acknowledged: AlertDecision | null;
  readonly quieted: AlertDecision | null;
}

/**
 * The open alerts of all processes of a data folder, newest first.
 *
 * @param folder `run` of the data folder
 * @throws the system's error for a file that cannot be read, because "no alert" would be wrong
 */
export async function openAlerts(folder: string, now = new Date()): Promise<readonly OpenAlert[]> {
  const decisionsOn = alertDecisions(folder)();
  const open = (await namesIn(folder)).flatMap((name) => {
    const role = /^alerts-(.+)\.json$/.exec(name)?.[1];
    if (role === undefined) return [];
    return readStoredAlerts(join(folder, name)).flatMap(([key, stored]) => {
      const { alert, sinceMs } = stored;
      const { acknowledged, quieted } = decisionsOn(key);
      if (isOver(stored, decisionsOn(key))) return [];
      return {
        ...{ key, title: alert.title, detail: alert.detail ?? '', role, name: alertNameOf(key) },
        since: new Date(sinceMs).toISOString(),
        acknowledged: isAcknowledged(acknowledged, sinceMs) ? acknowledged : null,
        quieted: Date.parse(quieted?.until ?? '') > now.getTime() ? quieted : null,
      };
    });
  });
  const orderOf = ({ since, key }: OpenAlert): string => `${since} ${key}`;
  return open.sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  }
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
