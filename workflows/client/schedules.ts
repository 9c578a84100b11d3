import {
  type CalendarSpec,
  type Client,
  type IntervalSpec,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import { durationMs } from '../../lib/config/setting-values.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { isTemporalError } from '../../lib/temporal/errors.ts';
import { type EnvironmentName, taskQueues } from '../../lib/wire/names.ts';
import type { ScheduledReport } from '../activities.ts';
import type { reconcile } from '../reconcile.ts';
import type { scheduledReport } from '../writer-requests.ts';

export interface ScheduleState {
  readonly scheduleId: string;
  readonly every: string;
  readonly isPaused: boolean;
  readonly note: string;
  /** The last runs, newest first; `at` is ISO 8601 UTC. */
  readonly lastRuns: readonly { readonly at: string; readonly workflowId: string }[];
  readonly nextRuns: readonly string[];
  readonly running: readonly string[];
}

type Environment = Pick<Settings, 'environment'>;
type ScheduleSettings = Pick<Settings, 'environment' | 'reconcileEvery'>;

/** Temporal's default would repeat a year of missed runs, although a later run finds the same. */
const CATCH_UP_WINDOW: Duration = '1 h';

export function scheduleId(environment: EnvironmentName): string {
  return `reconcile/${environment}`;
}

/** Creates or updates the schedule and leaves a pause as it is. Several processes may call it at once. */
export async function applySchedule(
  client: Client,
  settings: ScheduleSettings,
  queues = taskQueues(settings.environment),
): Promise<void> {
  const { environment } = settings;
  const every = settings.reconcileEvery as Duration;
  const definition = {
    // The jitter keeps several installations from calling the service in the same second.
    spec: {
      intervals: [{ every }] as IntervalSpec[],
      jitter: Math.round(durationMs(settings.reconcileEvery) / 10),
    },
    action: {
      type: 'startWorkflow' as const,
      workflowType: 'reconcile',
      workflowId: `reconcile/${environment}/scheduled`,
      taskQueue: queues.warehouse,
      args: [{ environment }] as Parameters<typeof reconcile>,
      workflowRunTimeout: '1 h' as const,
    },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP_WINDOW },
  };
  const handle = client.schedule.getHandle(scheduleId(environment));
  const create = () => client.schedule.create({ scheduleId: scheduleId(environment), ...definition });
  try {
    await create();
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    try {
      await handle.update(({ state }) => ({ ...definition, state }));
    } catch (failure) {
      if (!isTemporalError(failure, 'unencrypted-payload')) throw failure;
      // A schedule that another program created or changed is replaced.
      await handle.delete();
      await create();
    }
  }
}

/** Returns null when there is no schedule yet. */
export async function showSchedule(
  client: Client,
  { environment, reconcileEvery }: ScheduleSettings,
): Promise<ScheduleState | null> {
  try {
    const description = await client.schedule.getHandle(scheduleId(environment)).describe();
    const { spec, state, info } = description;
    const everyMs = spec.intervals?.[0]?.every;
    return {
      scheduleId: description.scheduleId,
      every: everyMs === undefined ? reconcileEvery : formatInterval(Number(everyMs)),
      isPaused: state.paused,
      note: state.paused ? (state.note ?? '') : '',
      lastRuns: info.recentActions
        .map(({ takenAt, action }) => ({ at: takenAt.toISOString(), workflowId: action.workflow.workflowId }))
        .reverse(),
      nextRuns: info.nextActionTimes.map((at) => at.toISOString()),
      running: info.runningActions.map(({ workflow }) => workflow.workflowId),
    };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

export async function pauseSchedule(
  client: Client,
  { environment }: Environment,
  note: string,
): Promise<void> {
  await client.schedule.getHandle(scheduleId(environment)).pause(note);
}

export async function resumeSchedule(client: Client, { environment }: Environment): Promise<void> {
  await client.schedule.getHandle(scheduleId(environment)).unpause();
}

export async function triggerSchedule(client: Client, { environment }: Environment): Promise<void> {
  await client.schedule.getHandle(scheduleId(environment)).trigger(ScheduleOverlapPolicy.SKIP);
}

function formatInterval(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`;
}

export const REPORT_CADENCES = ['daily', 'monthly'] as const;
export type ReportCadence = (typeof REPORT_CADENCES)[number];

export interface ReportSchedule {
  readonly name: string;
  readonly cadence: ReportCadence;
  /** The next run in ISO 8601 UTC; null when the schedule never runs again. */
  readonly nextRun: string | null;
  readonly isPaused: boolean;
}

/** Reports are written at these times in UTC, after the night's invoices. */
const CALENDARS: Readonly<Record<ReportCadence, CalendarSpec>> = {
  daily: { hour: 5, comment: 'daily' },
  monthly: { hour: 5, dayOfMonth: 1, comment: 'monthly' },
};

export function reportScheduleId(environment: string, name: string): string {
  return `report/${environment}/${name}`;
}

export async function applyReportSchedule(
  client: Client,
  { environment }: Environment,
  { cadence, scheduled }: { readonly cadence: ReportCadence; readonly scheduled: ScheduledReport },
  queues = taskQueues(environment),
): Promise<string> {
  const id = reportScheduleId(environment, scheduled.name);
  const create = () =>
    client.schedule.create({
      scheduleId: id,
      spec: { calendars: [CALENDARS[cadence]] },
      action: {
        type: 'startWorkflow' as const,
        workflowType: 'scheduledReport',
        workflowId: `${id}/run`,
        taskQueue: queues.warehouse,
        args: [scheduled] as Parameters<typeof scheduledReport>,
        workflowRunTimeout: '2 h' as const,
      },
      // A report that was missed in the night is written in the morning.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 day' as const },
      memo: { cadence, name: scheduled.name },
    });
  try {
    await create();
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    // The schedule is created again, because the cadence is in its memo, which cannot be updated.
    await client.schedule.getHandle(id).delete();
    await create();
  }
  return id;
}

export async function removeReportSchedule(
  client: Client,
  { environment }: Environment,
  name: string,
): Promise<boolean> {
  try {
    await client.schedule.getHandle(reportScheduleId(environment, name)).delete();
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}

export async function listReportSchedules(
  client: Client,
  { environment }: Environment,
): Promise<ReportSchedule[]> {
  const found: ReportSchedule[] = [];
  for await (const { scheduleId: id, memo, info, state } of client.schedule.list()) {
    if (!id.startsWith(reportScheduleId(environment, ''))) continue;
    // A schedule without our encrypted memo belongs to another program.
    if (typeof memo?.name !== 'string') continue;
    found.push({
      name: memo.name,
      cadence: memo.cadence === 'monthly' ? 'monthly' : 'daily',
      nextRun: info?.nextActionTimes[0]?.toISOString() ?? null,
      isPaused: state?.paused ?? false,
    });
  }
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));
}
