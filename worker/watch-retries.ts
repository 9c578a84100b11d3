/**
 * Raises one alert while steps of invoices fail again and again: each is tried for days, and until then nothing else
 * would say that an invoice stands still.
 */

import { CancelledFailure, type Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Check } from '../lib/health/health.ts';

interface Failing {
  /** The invoice; of other workflows their id. */
  readonly subject: string;
  readonly activity: string;
  readonly sinceMs: number;
  readonly lastMs: number;
  /** From when on it is worth a word. */
  readonly toldFromMs: number;
  readonly reason: string;
}

/** A step that fails once or twice in a moment is nothing. */
const FROM_ATTEMPT = 3;
const FROM_MS = 20_000;
/** One that was not tried again for so long was given up, or its invoice was voided. */
const FORGOTTEN_AFTER_MS = 3_600_000;
const SWEEP_EVERY_MS = 5_000;
/** Whose last word is not that of their workflow: it waits and begins again, for a day before it asks a person. */
const BEGUN_AGAIN = new Set(['regenerateUrl', 'downloadCsv', 'exportCsv']);
/** After these nothing of the invoice stands still any more, or a person knows. */
const SETTLED_BY = new Set(['loadInvoice', 'parkInvoice', 'voidInvoice']);
/** More at once are one outage, and the count need not be exact. */
const MOST_REMEMBERED = 5_000;
const TOLD = 5;

export function watchRetries({
  alerts,
  now = () => Date.now(),
}: {
  readonly alerts: Alerts;
  readonly now?: () => number;
}): { readonly interceptor: ActivityInterceptorsFactory; readonly check: Check } {
  const failing = new Map<string, Failing>();
  // What an earlier process said of a step is not known here; it is taken back once that step would have been tried again.
  const beganMs = now();

  function tell(): void {
    for (const [key, { lastMs }] of failing) if (now() - lastMs > FORGOTTEN_AFTER_MS) failing.delete(key);
    const late = [...failing.values()].filter(({ toldFromMs }) => toldFromMs <= now());
    const [oldest] = late;
    if (oldest === undefined) {
      alerts.resolve('retries');
      return;
    }
    const list = late
      .slice(0, TOLD)
      .map(({ subject, activity, reason }) => `${subject} (${activity}: ${reason})`);
    const more = late.length > TOLD ? ` And ${late.length - TOLD} more.` : '';
    alerts.raise({
      key: 'retries',
      title: `Work on ${late.length === 1 ? 'an invoice' : 'invoices'} keeps failing`,
      detail: `Since ${new Date(oldest.sinceMs).toISOString()}: ${list.join('; ')}.${more} Each is retried automatically.`,
    });
  }

  function failed({ info }: Context, error: unknown): void {
    if (error instanceof CancelledFailure) return;
    const key = keyOf(info);
    const { attempt, activityType: activity } = info;
    const isLastWord = error instanceof ApplicationFailure && error.nonRetryable === true;
    if (isLastWord && !BEGUN_AGAIN.has(activity)) {
      // The workflow knows what to do next.
      if (failing.delete(key)) tell();
      return;
    }
    if (failing.size >= MOST_REMEMBERED && !failing.has(key)) return;
    const sinceMs = failing.get(key)?.sinceMs ?? info.scheduledTimestampMs;
    const [reason = ''] = String(error instanceof Error ? error.message : error).split('\n');
    failing.set(key, {
      ...{ subject: subjectOf(info), activity, reason, sinceMs },
      lastMs: now(),
      toldFromMs: attempt >= FROM_ATTEMPT && !isLastWord ? sinceMs : sinceMs + FROM_MS,
    });
    tell();
  }

  function went(info: Context['info'], result: unknown): void {
    // A small file is loaded by the activity that fetched it.
    const isFetched = (result as { readonly outcome?: unknown } | undefined)?.outcome === 'fetched';
    const keys =
      isFetched || SETTLED_BY.has(info.activityType)
        ? [...failing.keys()].filter((key) => key.startsWith(workflowOf(info)))
        : [keyOf(info)];
    if (keys.filter((key) => failing.delete(key)).length > 0) tell();
  }

  return {
    interceptor: (context) => ({
      inbound: {
        async execute(input, next) {
          try {
            const result = await next(input);
            if (failing.size > 0) went(context.info, result);
            return result;
          } catch (error) {
            failed(context, error);
            throw error;
          }
        },
      },
    }),
    check: {
      component: 'retries',
      everyMs: SWEEP_EVERY_MS,
      run() {
        if (failing.size > 0 || now() - beganMs > FORGOTTEN_AFTER_MS) tell();
      },
    },
  };
}

/** The workflow begins a step again as another activity of the same type. */
function keyOf(info: Context['info']): string {
  return `${workflowOf(info)}${info.activityType}`;
}

function workflowOf({ workflowExecution }: Context['info']): string {
  return `${workflowExecution?.workflowId} ${workflowExecution?.runId} `;
}

function subjectOf({ workflowExecution, activityType }: Context['info']): string {
  const id = workflowExecution?.workflowId ?? activityType;
  // A batch of a backfill is called 1: what it is says the whole.
  return id.startsWith('invoice/') ? (id.split('/').at(-1) ?? id) : id;
}
