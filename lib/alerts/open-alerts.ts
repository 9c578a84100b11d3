/** The alerts that are not over: each process keeps its own in a file, which lists of all of them read. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { systemCode } from '../files/durable-files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { namesIn } from '../names-in.ts';
import { type AlertDecision, type DecisionsOnAlert, isSeen, readAlertDecisions } from './alert-decisions.ts';
import type { Alert } from './alerts.ts';
import { type AlertName, alertNameOf, isNotice } from './runbook/runbook.ts';

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
