/**
 * What people decided about alerts: seen and being taken care of, or not to be said for a while. Kept as lines that are only
 * ever added, since a command and a page may decide at once; who said an alert, and every list of alerts, reads them.
 */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { appendDurably, makeFolder } from '../files/durable-files.ts';
import { namesIn, replaceFile } from '../files/files.ts';
import { systemCode } from '../system-errors.ts';
import type { AlertKey } from './runbook/runbook.ts';

import { type AlertName, alertNameOf, isNotice } from './runbook/runbook.ts';

export interface AlertDecision {
  /** ISO 8601 UTC. */
  readonly at: string;
  /** Of the alert. */
  readonly key: string;
  /** `quieted` until an instant; one that has passed ends the quiet. */
  readonly kind: 'acknowledged' | 'quieted';
  readonly until: string | null;
  /** Who, as the machine knows them. */
  readonly by: string;
  /** '' when nothing was said. */
  readonly note: string;
}

/** The newest of each kind. */
export interface DecisionsOnAlert {
  readonly acknowledged: AlertDecision | null;
  readonly quieted: AlertDecision | null;
}

const NAME = 'alert-decisions.ndjson';
const NONE: DecisionsOnAlert = { acknowledged: null, quieted: null };

/** Durable when it resolves. @param folder `run` of the data folder @throws the system's error */
export async function decideOnAlerts(folder: string, decisions: readonly AlertDecision[]): Promise<void> {
  await makeFolder(folder);
  // A line end first: a line that a full disk cut off stays alone.
  const lines = decisions.map((decision) => `\n${JSON.stringify(decision)}`);
  await appendDurably(join(folder, NAME), `${lines.join('')}\n`);
}

/** The newest decisions on an alert, by its key. */
export type DecisionsOn = (key: string) => DecisionsOnAlert;

export interface AlertDecisions {
  /** As they are now, for as many alerts as there are. @throws the system's error for a file that cannot be read */
  read(): DecisionsOn;
}

/** Reads the file again whenever it has changed. */
export function readAlertDecisions(folder: string): AlertDecisions {
  const path = join(folder, NAME);
  let stamp = '';
  let known: ReadonlyMap<string, DecisionsOnAlert> = new Map();
  return {
    read() {
      const found = statSync(path, { throwIfNoEntry: false });
      const now = found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`;
      if (now !== stamp) known = newest(textOf(path));
      stamp = now;
      return (key) => known.get(key) ?? NONE;
    },
  };
}

/** Whether a decision to acknowledge was made since, or a quiet has not passed. */
export function isQuieted(
  { acknowledged, quieted }: DecisionsOnAlert,
  sinceMs: number,
  nowMs: number,
): boolean {
  return isSeen(acknowledged, sinceMs) || Date.parse(quieted?.until ?? '') > nowMs;
}

export function isSeen(acknowledged: AlertDecision | null, sinceMs: number): boolean {
  return acknowledged !== null && Date.parse(acknowledged.at) >= sinceMs;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return '';
    throw error;
  }
}

function newest(text: string): ReadonlyMap<string, DecisionsOnAlert> {
  const found = new Map<string, DecisionsOnAlert>();
  for (const line of text.split('\n')) {
    const decision = decisionOf(line);
    if (decision === null) continue;
    found.set(decision.key, { ...(found.get(decision.key) ?? NONE), [decision.kind]: decision });
  }
  return found;
}

/** null for a line that was cut off, and for what a later version may write. */
function decisionOf(line: string): AlertDecision | null {
  if (line === '') return null;
  try {
    const read = Line.safeParse(JSON.parse(line));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

const Line = z.object({
  at: z.iso.datetime(),
  key: z.string(),
  kind: z.enum(['acknowledged', 'quieted']),
  until: z.iso.datetime().nullable(),
  by: z.string(),
  note: z.string(),
});

export interface Said {
  readonly alert: Alert;
  /** When it was said last. */
  readonly atMs: number;
  /** When it began. */
  readonly sinceMs: number;
  /** How often it was raised since and not said. */
  unsaid: number;
}

/** An alert that was raised and is not over. */
export interface OpenAlert {
  readonly key: string;
  readonly title: string;
  /** What was tried, what to do. */
  readonly detail: string;
  /** ISO 8601 UTC. */
  readonly since: string;
  /** Which process said it. */
  readonly role: string;
  /** Its page in the runbook; null: there is none. */
  readonly name: AlertName | null;
  /** null: nobody has, since it began. */
  readonly acknowledged: AlertDecision | null;
  /** null: it is said as always. */
  readonly quieted: AlertDecision | null;
}

/** The newest are remembered. */
const MOST_REMEMBERED = 10_000;

/** A notice is over once somebody has seen it. */
export function isOver({ alert, atMs }: Said, { acknowledged }: DecisionsOnAlert): boolean {
  return isNotice(alert.key) && isSeen(acknowledged, atMs);
}

/**
 * What the processes of a data folder have said and not taken back, newest first.
 *
 * @param folder `run` of the data folder
 * @throws the system's error for what is there and cannot be read: "no alert" would be a lie
 */
export async function openAlerts(folder: string, now = new Date()): Promise<readonly OpenAlert[]> {
  const decidedOn = readAlertDecisions(folder).read();
  const found = (await namesIn(folder)).flatMap((name) => {
    const role = /^alerts-(.+)\.json$/.exec(name)?.[1];
    if (role === undefined) return [];
    return recalled(join(folder, name)).flatMap(([key, said]) => {
      const { alert, sinceMs } = said;
      const decided = decidedOn(key);
      if (isOver(said, decided)) return [];
      return {
        ...{ key, title: alert.title, detail: alert.detail ?? '', role, name: alertNameOf(key) },
        since: new Date(sinceMs).toISOString(),
        acknowledged: isSeen(decided.acknowledged, sinceMs) ? decided.acknowledged : null,
        quieted: Date.parse(decided.quieted?.until ?? '') > now.getTime() ? decided.quieted : null,
      };
    });
  });
  const places = found.map((alert) => ({ alert, place: `${alert.since} ${alert.key}` }));
  return places.sort((one, other) => (one.place < other.place ? 1 : -1)).map(({ alert }) => alert);
}

/** What an earlier life of the process had said; nothing of what makes no sense. @throws the system's error */
export function recalled(path: string): [string, Said][] {
  return linesOf(path).flatMap((line): [string, Said][] => {
    const said = Remembered.safeParse(line);
    return said.success ? [[said.data.alert.key, said.data as unknown as Said]] : [];
  });
}

function linesOf(path: string): readonly unknown[] {
  try {
    const lines: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(lines) ? lines : [];
  } catch (error) {
    // Written whole, so what is no JSON was written by somebody else.
    if (systemCode(error) === 'ENOENT' || error instanceof SyntaxError) return [];
    throw error;
  }
}

const Remembered = z.object({
  alert: z.object({
    key: z.string(),
    title: z.string(),
    detail: z.string().optional(),
  }),
  atMs: z.number(),
  sinceMs: z.number(),
  unsaid: z.number(),
});

/** @throws the system's error */
export function remember(path: string, said: ReadonlyMap<string, Said>): void {
  const lines = [...said.values()].slice(-MOST_REMEMBERED);
  replaceFile(path, `${JSON.stringify(lines)}\n`);
}

export interface Alert {
  readonly key: AlertKey;
  /** One sentence a person understands. */
  readonly title: string;
  /** What was tried, what to do. */
  readonly detail?: string;
}
