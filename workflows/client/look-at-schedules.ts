/** Whether what Temporal starts by the clock was started when it was due, and ended well: nobody waits for its answer. */

import {
  type Client,
  type ScheduleDescription,
  ScheduleNotFoundError,
  WorkflowNotFoundError,
} from '@temporalio/client';
import { durationMs } from '../../lib/config/setting-values.ts';
import type { Settings } from '../../lib/config/settings.ts';
import type { CheckedState } from '../../lib/health/health.ts';
import { listReportSchedules, reportScheduleId } from './report-schedules.ts';
import { scheduleId } from './schedule.ts';

type Watched = Pick<Settings, 'environment' | 'reconcileEvery'>;

interface Due {
  readonly id: string;
  readonly name: string;
  readonly everyMs: number;
  readonly again: string;
}

const DAY_MS = 24 * 3_600_000;
/** The longest time between two runs of a report's schedule. */
const REPORT_EVERY_MS = { daily: DAY_MS, monthly: 31 * DAY_MS } as const;
/** Schedules have a jitter of a tenth of their interval, and a server has other things to do. */
const JITTER = 1.1;
const PATIENCE_MS = 10 * 60_000;

/**
 * What it says of each schedule lasts until its next run ended well. One that a person paused is left alone.
 *
 * @param since ISO 8601 UTC; of what was due before nobody is told again: nothing may have been running then
 * @returns a function that looks once; it throws what Temporal answers
 */
export function scheduleWatch(
  settings: Watched,
  since: Date,
): (client: Client, now: Date) => Promise<CheckedState> {
  const pausedAt = new Map<string, number>();

  async function troubleOf(client: Client, due: Due, now: Date): Promise<string | null> {
    const found = await describe(client, due.id);
    if (found === null) return `${due.name}: there is no schedule for it; \`${due.again}\``;
    if (found.state.paused) {
      pausedAt.set(due.id, now.getTime());
      return null;
    }
    const { recentActions, createdAt } = found.info;
    const last = recentActions.at(-1);
    const from = Math.max((last?.takenAt ?? createdAt).getTime(), since.getTime(), pausedAt.get(due.id) ?? 0);
    if (now.getTime() - from > due.everyMs * JITTER + PATIENCE_MS) {
      const at = last === undefined ? 'has not run yet' : `last ran at ${last.takenAt.toISOString()}`;
      return `${due.name}: it ${at}, and should have run since`;
    }
    if (last === undefined) return null;
    const { workflowId, firstExecutionRunId } = last.action.workflow;
    const ended = await endOf(client, { workflowId, runId: firstExecutionRunId });
    return ended === null ? null : `${due.name}: its run of ${last.takenAt.toISOString()} ${ended}`;
  }

  return async (client, now) => {
    const troubles: string[] = [];
    for (const due of await allDue(client, settings)) {
      const trouble = await troubleOf(client, due, now);
      if (trouble !== null) troubles.push(trouble);
    }
    return { isHealthy: troubles.length === 0, detail: troubles.join('; ') };
  };
}

async function allDue(client: Client, settings: Watched): Promise<readonly Due[]> {
  const { environment } = settings;
  const reports = await listReportSchedules(client, settings);
  return [
    {
      id: scheduleId(environment),
      name: 'reconciliation',
      everyMs: durationMs(settings.reconcileEvery),
      again: 'billsync schedule apply',
    },
    ...reports.map(({ name, cadence }) => ({
      id: reportScheduleId(environment, name),
      name: `report ${name}`,
      everyMs: REPORT_EVERY_MS[cadence],
      again: 'billsync report --schedule',
    })),
  ];
}

async function describe(client: Client, id: string): Promise<ScheduleDescription | null> {
  try {
    return await client.schedule.getHandle(id).describe();
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** null: it runs, ended well, or is so long ago that Temporal forgot it. */
async function endOf(
  client: Client,
  { workflowId, runId }: { readonly workflowId: string; readonly runId: string },
): Promise<string | null> {
  try {
    const { status } = await client.workflow.getHandle(workflowId, runId).describe();
    return ENDS[status.name] ?? null;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

const ENDS: Readonly<Record<string, string>> = {
  FAILED: 'failed',
  TIMED_OUT: 'did not end in time',
  TERMINATED: 'was terminated',
  CANCELLED: 'was cancelled',
};
