/**
 * Tells a person what needs one, in the log and in every channel that is set up (alert-channels/); once per quiet window, and when it is over.
 *
 * An alert must never be the reason why something else fails: nothing here throws or makes its caller wait.
 */

import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { z } from 'zod';
import { durationMs } from '../config/duration.js';
import type { Settings } from '../config/settings.js';
import type { Notice } from './alert-channels/channel.js';
import { openChannels } from './alert-channels/channels.js';
import type { Logger } from './log.js';
import type { Metrics } from './metrics.js';
import { replaceFile } from './replace-file.js';
import { type AlertKey, type AlertName, alertNameOf, anchorOf, RUNBOOK } from './runbook/runbook.js';

export interface Alert {
  readonly key: AlertKey;
  /** One sentence a person understands. */
  readonly title: string;
  /** What was tried, what to do. */
  readonly detail?: string;
}

export interface Alerts {
  /** Says it once per quiet window, however often it is raised; then how often it was raised meanwhile. */
  raise(alert: Alert): void;
  /** Says that it is over, if it was ever said. */
  resolve(key: AlertKey): void;
  /** Resolves when all that was raised has been said, or given up. */
  close(): Promise<void>;
}

interface Said {
  readonly alert: Alert;
  /** When it was said last. */
  readonly atMs: number;
  /** When it began; missing in what an older version remembered. */
  readonly sinceMs?: number;
  /** How often it was raised since and not said. */
  unsaid: number;
}

const SEND_TIMEOUT_MS = 10_000;
const TRIES = 3;
/** The newest are remembered across restarts. */
const MOST_REMEMBERED = 2_000;

/** @param deps.scrub takes secrets out of what leaves the process (ops/scrub.ts) */
export function createAlerts(deps: {
  readonly settings: Pick<Settings, 'alerts' | 'environment'>;
  readonly log: Logger;
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
}): Alerts {
  const { settings, log, now = () => new Date(), retryAfterMs = 2_000 } = deps;
  const quietMs = durationMs(settings.alerts.quietWindow);
  const { memory } = deps;
  const channels = openChannels({ settings, post });
  const said = new Map<string, Said>(memory === undefined ? [] : recalled(memory));
  let tail: Promise<void> = Promise.resolve();
  const raised = deps.metrics?.counter('alerts_total');
  const open = deps.metrics?.gauge('alerts_open');
  for (const key of said.keys()) count(key);

  function raise(alert: Alert): void {
    const atMs = now().getTime();
    const before = said.get(alert.key);
    if (before !== undefined && atMs - before.atMs < quietMs) {
      before.unsaid += 1;
      return;
    }
    said.set(alert.key, { alert, atMs, sinceMs: before?.sinceMs ?? atMs, unsaid: 0 });
    count(alert.key);
    say('raised', alert, before?.unsaid ?? 0);
  }

  function resolve(key: AlertKey): void {
    const before = said.get(key);
    if (before === undefined) return;
    said.delete(key);
    count(key);
    say('resolved', before.alert, before.unsaid);
  }

  /** Counted by name: a metric with an invoice's id as label would grow for ever. */
  function count(key: string): void {
    const alert = alertNameOf(key);
    if (open === undefined || alert === null) return;
    const alike = [...said.keys()].filter((other) => alertNameOf(other) === alert).length;
    open.set({ alert, severity: RUNBOOK[alert].severity }, alike);
  }

  function say(state: Notice['state'], alert: Alert, repeated: number): void {
    const notice: Notice = {
      at: now().toISOString(),
      state,
      key: alert.key,
      title: deps.scrub(alert.title),
      detail: deps.scrub(alert.detail ?? ''),
      repeated,
      runbook: runbookOf(alert.key, settings.alerts.runbookUrl ?? null),
    };
    raised?.inc({ state });
    if (memory !== undefined) tail = tail.then(() => remember(memory, said)).catch(() => undefined);
    log[state === 'raised' ? 'warn' : 'info']({ alert: notice }, `alert ${state}: ${notice.title}`);
    // One after the other, so that a resolved notice never overtakes its alert.
    tail = tail.then(() => deliver(notice)).catch((error: unknown) => complain(notice, error));
  }

  async function deliver(notice: Notice): Promise<void> {
    const ends = await Promise.allSettled(channels.map((tell) => tell(notice)));
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
    if (failures.length > 0) throw new AggregateError(failures, 'An alert did not reach every channel.');
  }

  async function post(url: string, message: object): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { statusCode, body } = await request(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(message),
          signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
        });
        await body.dump();
        if (statusCode < 300) return;
        throw new Error(`The alert webhook answered ${statusCode}.`);
      } catch (error) {
        if (attempt === TRIES) throw error;
        await new Promise((wake) => setTimeout(wake, retryAfterMs));
      }
    }
  }

  function complain(notice: Notice, error: unknown): void {
    const reasons = error instanceof AggregateError ? error.errors : [error];
    log.error(
      { key: notice.key, reasons: reasons.map((reason) => deps.scrub(String(reason))) },
      'alert not sent',
    );
  }

  return { raise, resolve, close: () => tail };
}

/** What an earlier life of the process had said; nothing of what makes no sense. */
function recalled(path: string): [string, Said][] {
  try {
    const lines: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return (Array.isArray(lines) ? lines : []).flatMap((line): [string, Said][] => {
      const said = Remembered.safeParse(line);
      return said.success ? [[said.data.alert.key, said.data as unknown as Said]] : [];
    });
  } catch {
    return [];
  }
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
  /** Its page in the runbook; null for one that an older version remembered. */
  readonly name: AlertName | null;
}

/** What the processes of a data folder have said and not taken back, newest first. @param folder `run` of the data folder */
export async function openAlerts(folder: string): Promise<readonly OpenAlert[]> {
  const names = await readdir(folder).catch(() => []);
  const found = names.flatMap((name) => {
    const role = /^alerts-(.+)\.json$/.exec(name)?.[1];
    if (role === undefined) return [];
    return recalled(join(folder, name)).map(([key, { alert, atMs, sinceMs = atMs }]) => ({
      ...{ key, title: alert.title, detail: alert.detail ?? '', role, name: alertNameOf(key) },
      since: new Date(sinceMs).toISOString(),
    }));
  });
  return found.sort((one, other) => (one.since < other.since ? 1 : -1));
}

/** Where it stands what to do: an address, or the command that shows it where none is set. */
function runbookOf(key: string, url: string | null): string {
  const name = alertNameOf(key) ?? key;
  return url === null ? `billsync alerts explain ${name}` : `${url.replace(/#$/, '')}#${anchorOf(name)}`;
}

const Remembered = z.object({
  alert: z.object({ key: z.string(), title: z.string(), detail: z.string().optional() }),
  atMs: z.number(),
  sinceMs: z.number().optional(),
  unsaid: z.number(),
});

async function remember(path: string, said: ReadonlyMap<string, Said>): Promise<void> {
  const lines = [...said.values()].slice(-MOST_REMEMBERED);
  replaceFile(path, `${JSON.stringify(lines)}\n`);
}
