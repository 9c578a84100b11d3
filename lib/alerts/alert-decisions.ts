/**
 * What people decided about alerts: seen and being taken care of, or not to be said for a while. Kept as lines that are only
 * ever added, since a command and a page may decide at once; who said an alert, and every list of alerts, reads them.
 */

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { appendDurably, makeFolder, systemCode } from '../files/durable-files.ts';

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
