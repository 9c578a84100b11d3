/** A removed schedule and terminated workflows are started again. */

import {
  type Client,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { durationMs } from '../lib/config/setting-values.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { CheckedState, Health, StateCheck } from '../lib/health/health.ts';
import { taskQueues } from '../lib/wire/names.ts';
import {
  applySchedule,
  listReportSchedules,
  reportScheduleId,
  scheduleId,
  showSchedule,
} from '../workflows/client/schedules.ts';

type ScheduleSettings = Pick<Settings, 'environment' | 'reconcileEvery'>;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const TERMINATED_ALERT_MS = 60 * MINUTE_MS;
const MAX_TERMINATED = 1_000;
const HEALTHY: CheckedState = { isHealthy: true, detail: '' };

export function scheduleChecks({
  settings,
  health,
}: {
  readonly settings: ScheduleSettings;
  readonly health: Pick<Health, 'report'>;
}): {
  readonly checks: readonly StateCheck[];
  connect(client: Client): void;
} {
  const queues = taskQueues(settings.environment);
  const checkRuns = scheduledRunsCheck(settings, new Date());
  const reconciled = new Set<string>();
  let current: Client | null = null;

  /** Keeps the last state while Temporal does not respond, which has an alert of its own. */
  function whileConnected(check: (client: Client) => Promise<CheckedState>): () => Promise<CheckedState> {
    let last = HEALTHY;
    return async () => {
      if (current === null || health.report().components.temporal?.isHealthy !== true) return last;
      last = await check(current);
      return last;
    };
  }

  async function checkSchedules(client: Client): Promise<CheckedState> {
    if ((await showSchedule(client, settings)) !== null) return checkRuns(client, new Date());
    await applySchedule(client, settings, queues);
    return {
      isHealthy: false,
      detail: 'reconciliation: its schedule had been removed and was created again',
    };
  }

  async function checkTerminated(client: Client): Promise<CheckedState> {
    const since = new Date(Date.now() - TERMINATED_ALERT_MS).toISOString();
    const found = await terminatedSince(client, Object.values(queues), since);
    if (found.length === 0) return HEALTHY;
    if (found.some(({ runId }) => !reconciled.has(runId))) {
      // Starts every unfinished invoice from the archive. Buffered: a current run may be past that step.
      const schedule = client.schedule.getHandle(scheduleId(settings.environment));
      await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ONE);
      for (const { runId } of found) reconciled.add(runId);
    }
    const [first] = found;
    const count = found.length === MAX_TERMINATED ? `${MAX_TERMINATED} or more` : String(found.length);
    return {
      isHealthy: false,
      detail: `${count} within the last hour, the latest ${first?.workflowId}. A reconciliation was started; it continues all unfinished invoices from the archive. A backfill has to be started again.`,
    };
  }

  return {
    connect(client) {
      current = client;
    },
    checks: [
      {
        component: 'schedule',
        isOutside: true,
        everyMs: MINUTE_MS,
        alert: { key: 'schedule', title: 'A scheduled job failed or did not run' },
        readState: whileConnected(checkSchedules),
      },
      {
        component: 'workflows',
        isOutside: true,
        everyMs: MINUTE_MS,
        alert: { key: 'temporal/terminated', title: 'Workflows were terminated from outside' },
        readState: whileConnected(checkTerminated),
      },
    ],
  };
}

/** Finds workflows of ours that were terminated or cancelled, the latest first: billsync itself does neither. */
async function terminatedSince(client: Client, queues: readonly string[], since: string) {
  const ours = queues.map((queue) => `TaskQueue = '${queue}'`).join(' OR ');
  const query = `ExecutionStatus IN ('Terminated', 'Canceled') AND CloseTime > '${since}' AND (${ours})`;
  const found: { readonly workflowId: string; readonly runId: string }[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: MAX_TERMINATED })) {
    found.push({ workflowId, runId });
    if (found.length === MAX_TERMINATED) break;
  }
  return found;
}

interface ScheduledJob {
  readonly id: string;
  readonly name: string;
  readonly everyMs: number;
  readonly command: string;
}

const REPORT_INTERVAL_MS = { daily: DAY_MS, monthly: 31 * DAY_MS } as const;
const JITTER_FACTOR = 1.1;
const LATE_AFTER_MS = 10 * MINUTE_MS;

/** A problem lasts until the next run succeeds. @param since no worker may have been running before */
export function scheduledRunsCheck(
  settings: ScheduleSettings,
  since: Date,
): (client: Client, now: Date) => Promise<CheckedState> {
  const pausedAt = new Map<string, number>();

  async function findProblem(client: Client, job: ScheduledJob, now: Date): Promise<string | null> {
    const found = await describeSchedule(client, job.id);
    if (found === null) return `${job.name}: there is no schedule for it; \`${job.command}\``;
    if (found.state.paused) {
      pausedAt.set(job.id, now.getTime());
      return null;
    }
    const { recentActions, createdAt } = found.info;
    const last = recentActions.at(-1);
    const from = Math.max((last?.takenAt ?? createdAt).getTime(), since.getTime(), pausedAt.get(job.id) ?? 0);
    if (now.getTime() - from > job.everyMs * JITTER_FACTOR + LATE_AFTER_MS) {
      const at = last === undefined ? 'has not run yet' : `last ran at ${last.takenAt.toISOString()}`;
      return `${job.name}: it ${at}, and should have run since`;
    }
    if (last === undefined) return null;
    const { workflowId, firstExecutionRunId } = last.action.workflow;
    const problem = await findRunProblem(client, workflowId, firstExecutionRunId);
    return problem === null ? null : `${job.name}: its run of ${last.takenAt.toISOString()} ${problem}`;
  }

  return async (client, now) => {
    const problems: string[] = [];
    for (const job of await listJobs(client, settings)) {
      const problem = await findProblem(client, job, now);
      if (problem !== null) problems.push(problem);
    }
    return { isHealthy: problems.length === 0, detail: problems.join('; ') };
  };
}

async function listJobs(client: Client, settings: ScheduleSettings): Promise<readonly ScheduledJob[]> {
  const { environment } = settings;
  const reports = await listReportSchedules(client, settings);
  return [
    {
      id: scheduleId(environment),
      name: 'reconciliation',
      everyMs: durationMs(settings.reconcileEvery),
      command: 'billsync schedule apply',
    },
    ...reports.map(({ name, cadence }) => ({
      id: reportScheduleId(environment, name),
      name: `report ${name}`,
      everyMs: REPORT_INTERVAL_MS[cadence],
      command: 'billsync report --schedule',
    })),
  ];
}

async function describeSchedule(client: Client, id: string): Promise<ScheduleDescription | null> {
  try {
    return await client.schedule.getHandle(id).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

async function findRunProblem(client: Client, workflowId: string, runId: string): Promise<string | null> {
  try {
    const { status } = await client.workflow.getHandle(workflowId, runId).describe();
    return RUN_PROBLEMS[status.name] ?? null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

const RUN_PROBLEMS: Readonly<Record<string, string>> = {
  FAILED: 'failed',
  TIMED_OUT: 'did not end in time',
  TERMINATED: 'was terminated',
  CANCELLED: 'was cancelled',
};
