/** The Temporal Schedules that write reports: one for each name, made, listed and removed by people. */

import {
  type CalendarSpec,
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { ScheduledReport } from '../../activities/write-report.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { taskQueues } from '../../lib/wire/names.ts';
import type { scheduledReport } from '../scheduled-report.ts';

export const REPORT_CADENCES = ['daily', 'monthly'] as const;
export type ReportCadence = (typeof REPORT_CADENCES)[number];

type Environment = Pick<Settings, 'environment'>;

export interface ReportSchedule {
  readonly name: string;
  readonly cadence: ReportCadence;
  /** ISO 8601 UTC; null when it never runs again. */
  readonly nextRun: string | null;
  readonly isPaused: boolean;
}

/** In UTC, after the night's invoices and before people come; a month on its first day. */
const CALENDARS: Readonly<Record<ReportCadence, CalendarSpec>> = {
  daily: { hour: 5, comment: 'daily' },
  monthly: { hour: 5, dayOfMonth: 1, comment: 'monthly' },
};

/** Makes the schedule, or replaces the one of the same name. */
export async function applyReportSchedule(
  client: Client,
  { environment }: Environment,
  wanted: { readonly cadence: ReportCadence; readonly scheduled: ScheduledReport },
  queues = taskQueues(environment),
): Promise<string> {
  const scheduleId = reportScheduleId(environment, wanted.scheduled.name);
  const definition = {
    spec: { calendars: [CALENDARS[wanted.cadence]] },
    action: {
      type: 'startWorkflow' as const,
      workflowType: 'scheduledReport',
      workflowId: `${scheduleId}/run`,
      taskQueue: queues.warehouse,
      args: [wanted.scheduled] as Parameters<typeof scheduledReport>,
      workflowRunTimeout: '2 h' as const,
    },
    // A report that was missed while nothing ran is still wanted in the morning.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 day' as const },
    memo: { cadence: wanted.cadence, name: wanted.scheduled.name },
  };
  try {
    await client.schedule.create({ scheduleId, ...definition });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    // A memo cannot be changed, and the cadence stands there: the old schedule makes room for the new one.
    await client.schedule.getHandle(scheduleId).delete();
    await client.schedule.create({ scheduleId, ...definition });
  }
  return scheduleId;
}

/** @returns false when there was none */
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

/** In order of name. */
export async function listReportSchedules(
  client: Client,
  { environment }: Environment,
): Promise<ReportSchedule[]> {
  const found: ReportSchedule[] = [];
  for await (const { scheduleId, memo, info, state } of client.schedule.list()) {
    if (!scheduleId.startsWith(reportScheduleId(environment, ''))) continue;
    // A stranger's: ours have an encrypted memo.
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

/** Writes it once, now. @throws ScheduleNotFoundError */
export async function triggerReportSchedule(
  client: Client,
  { environment }: Environment,
  name: string,
): Promise<void> {
  await client.schedule.getHandle(reportScheduleId(environment, name)).trigger(ScheduleOverlapPolicy.SKIP);
}

export function reportScheduleId(environment: string, name: string): string {
  return `report/${environment}/${name}`;
}
