import { CancelledFailure, type Context } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Alerts } from '../lib/alerts/alerts.ts';
import type { Check } from '../lib/health/health.ts';
import { firstLine } from '../lib/system-errors.ts';

interface FailingStep {
  readonly subject: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly activity: string;
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly alertFromMs: number;
  readonly reason: string;
}

/** A step that fails once or twice within seconds needs no alert. */
const ALERT_FROM_ATTEMPT = 3;
const ALERT_AFTER_MS = 20_000;
/** A step that was not retried for this long was given up, or its invoice was voided. */
const EXPIRES_AFTER_MS = 3_600_000;
const CHECK_INTERVAL_MS = 5_000;
/** The workflow starts these again after their last attempt, for a day before the invoice needs attention. */
const RESTARTED = new Set(['regenerateUrl', 'downloadCsv', 'exportCsv']);
const ENDS_WORK = new Set(['loadInvoice', 'markNeedsAttention', 'voidInvoice']);
/** At most this many failing steps are remembered: more at once are a single outage, and their number need not be exact. */
const MAX_STEPS = 5_000;
const MAX_LISTED = 5;
/** A step that was not retried here for so long may have been retried by another worker, which Temporal knows. */
const ELSEWHERE_AFTER_MS = 20_000;
const MAX_ASKED = 10;

export function createRetryAlert({
  alerts,
  now = () => Date.now(),
}: {
  readonly alerts: Alerts;
  readonly now?: () => number;
}): {
  readonly interceptor: ActivityInterceptorsFactory;
  readonly check: Check;
  connect(client: Client): void;
} {
  let client: Client | null = null;
  const failing = new Map<string, FailingStep>();
  // The alert of an earlier process is resolved once its steps would have been retried.
  const startedMs = now();

  function updateAlert(): void {
    for (const [key, { lastMs }] of failing) if (now() - lastMs > EXPIRES_AFTER_MS) failing.delete(key);
    const late = [...failing.values()]
      .filter(({ alertFromMs }) => alertFromMs <= now())
      .sort((a, b) => a.sinceMs - b.sinceMs);
    const [oldest] = late;
    if (oldest === undefined) {
      alerts.resolve('retries');
      return;
    }
    const list = late
      .slice(0, MAX_LISTED)
      .map(({ subject, activity, reason }) => `${subject} (${activity}: ${reason})`);
    const more = late.length > MAX_LISTED ? ` And ${late.length - MAX_LISTED} more.` : '';
    alerts.raise({
      key: 'retries',
      title: `Work on ${late.length === 1 ? 'an invoice' : 'invoices'} keeps failing`,
      detail: `Since ${new Date(oldest.sinceMs).toISOString()}: ${list.join('; ')}.${more} Each is retried automatically.`,
    });
  }

  function recordFailure({ info }: Context, error: unknown): void {
    if (error instanceof CancelledFailure) return;
    const key = keyOf(info);
    const { attempt, activityType: activity } = info;
    const isFinal = error instanceof ApplicationFailure && error.nonRetryable === true;
    if (isFinal && !RESTARTED.has(activity)) {
      if (failing.delete(key)) updateAlert();
      return;
    }
    if (failing.size >= MAX_STEPS && !failing.has(key)) return;
    const sinceMs = failing.get(key)?.sinceMs ?? info.scheduledTimestampMs;
    failing.set(key, {
      ...{ subject: subjectOf(info), activity, reason: firstLine(error), sinceMs },
      workflowId: info.workflowExecution?.workflowId ?? '',
      runId: info.workflowExecution?.runId ?? '',
      lastMs: now(),
      alertFromMs: attempt >= ALERT_FROM_ATTEMPT && !isFinal ? sinceMs : sinceMs + ALERT_AFTER_MS,
    });
    updateAlert();
  }

  function recordSuccess(info: Context['info'], result: unknown): void {
    // A fetched file ends the alert for every failing step of the workflow, because the other ways to fetch it are no longer tried.
    const isFetched = (result as { readonly outcome?: unknown } | undefined)?.outcome === 'fetched';
    const keys =
      isFetched || ENDS_WORK.has(info.activityType)
        ? [...failing.keys()].filter((key) => key.startsWith(workflowOf(info)))
        : [keyOf(info)];
    if (keys.filter((key) => failing.delete(key)).length > 0) updateAlert();
  }

  async function forgetDoneElsewhere(): Promise<void> {
    if (client === null) return;
    const quiet = [...failing].filter(([, { lastMs }]) => now() - lastMs > ELSEWHERE_AFTER_MS);
    for (const [key, step] of quiet.slice(0, MAX_ASKED)) {
      const isDone = await isDoneIn(client, step);
      if (failing.get(key) !== step) continue;
      failing.delete(key);
      // A step that is not done is asked about again after the others.
      if (!isDone) failing.set(key, step);
    }
  }

  return {
    connect(connected) {
      client = connected;
    },
    interceptor: (context) => ({
      inbound: {
        async execute(input, next) {
          let isLate = false;
          context.cancelled.catch(() => {
            const { timedOut = false, notFound = false } = context.cancellationDetails ?? {};
            // Temporal repeats an attempt that has exceeded its limit, whatever it returns afterwards.
            isLate = timedOut || notFound;
            if (isLate)
              recordFailure(
                context,
                new Error(
                  `it takes longer than its limit of ${context.info.startToCloseTimeoutMs / 1_000} s`,
                ),
              );
          });
          try {
            const result = await next(input);
            if (failing.size > 0 && !isLate) recordSuccess(context.info, result);
            return result;
          } catch (error) {
            if (!isLate) recordFailure(context, error);
            throw error;
          }
        },
      },
    }),
    check: {
      component: 'retries',
      everyMs: CHECK_INTERVAL_MS,
      async run() {
        const before = failing.size;
        await forgetDoneElsewhere();
        if (before > 0 || now() - startedMs > EXPIRES_AFTER_MS) updateAlert();
      },
    },
  };
}

/** Returns false when Temporal does not answer, so that the step counts as failing. */
async function isDoneIn(client: Client, { workflowId, runId, activity }: FailingStep): Promise<boolean> {
  try {
    const { status, raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const pending = (raw.pendingActivities ?? []).map(({ activityType }) => activityType?.name);
    if (status.name !== 'RUNNING') return true;
    if (pending.includes(activity)) return false;
    return pending.length > 0 || !RESTARTED.has(activity);
  } catch (error) {
    return error instanceof WorkflowNotFoundError;
  }
}

/** The key has the activity's type, because the workflow repeats a step as a new activity of the same type. */
function keyOf(info: Context['info']): string {
  return `${workflowOf(info)}${info.activityType}`;
}

function workflowOf({ workflowExecution }: Context['info']): string {
  return `${workflowExecution?.workflowId} ${workflowExecution?.runId} `;
}

function subjectOf({ workflowExecution, activityType }: Context['info']): string {
  const id = workflowExecution?.workflowId ?? activityType;
  return id.startsWith('invoice/') ? (id.split('/').at(-1) ?? id) : id;
}
