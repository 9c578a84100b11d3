/** What this process has said and not taken back, counted as a metric and kept in a file that outlives the process. */

import { dirname } from 'node:path';
import type { Logger } from '../log/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { type DecisionsOn, readAlertDecisions } from './alert-decisions.ts';
import { isOver, recalled, remember, type Said } from './open-alerts.ts';
import { type AlertName, alertNameOf, RUNBOOK } from './runbook/runbook.ts';

const NOTHING_DECIDED: DecisionsOn = () => ({ acknowledged: null, quieted: null });

export interface AlertLog {
  get(key: string): Said | undefined;
  put(said: Said): void;
  forget(key: string): void;
  /** What people decided, now. */
  decisions(): DecisionsOn;
  /** Writes it down, without what a person has seen and is over. */
  keep(): void;
}

/** Nothing here throws. @param memory the file; without it nothing is kept and nothing decided */
export function openSaidAlerts(
  memory: string | undefined,
  { log, metrics }: { readonly log: Logger; readonly metrics: Metrics | undefined },
): AlertLog {
  const said = new Map<string, Said>(memory === undefined ? [] : recalledOr(memory, log));
  const decided = memory === undefined ? null : readAlertDecisions(dirname(memory));
  const open = metrics?.gauge('alerts_open');
  const openByName = new Map<AlertName, number>();
  for (const key of said.keys()) count(key, 1);

  /** By name: a metric with an invoice's id as label would grow for ever. */
  function count(key: string, change: 1 | -1): void {
    const alert = alertNameOf(key);
    if (alert === null) return;
    const alike = (openByName.get(alert) ?? 0) + change;
    openByName.set(alert, alike);
    open?.set({ alert, severity: RUNBOOK[alert].severity }, alike);
  }

  /** What cannot be read must not keep an alert from being said. */
  function decisions(): DecisionsOn {
    try {
      return decided?.read() ?? NOTHING_DECIDED;
    } catch (error) {
      log.warn({ err: error }, 'what was decided on alerts cannot be read');
      return NOTHING_DECIDED;
    }
  }

  function forget(key: string): void {
    if (said.delete(key)) count(key, -1);
  }

  return {
    get: (key) => said.get(key),
    put(each) {
      if (!said.has(each.alert.key)) count(each.alert.key, 1);
      said.set(each.alert.key, each);
    },
    forget,
    decisions,
    keep() {
      if (memory === undefined) return;
      try {
        const decidedOn = decisions();
        for (const [key, known] of said) if (isOver(known, decidedOn(key))) forget(key);
        remember(memory, said);
      } catch (error) {
        log.error({ err: error }, 'the open alerts could not be kept: pages and commands may not list them');
      }
    },
  };
}

/** Without what an earlier life had said an alert may be repeated, which is better than no start. */
function recalledOr(memory: string, log: Logger): [string, Said][] {
  try {
    return recalled(memory);
  } catch (error) {
    log.warn({ err: error }, 'what was said before cannot be read; alerts may be repeated');
    return [];
  }
}
