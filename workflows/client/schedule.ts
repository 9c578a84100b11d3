/** The Temporal Schedule that runs reconcile: made and brought up to date by every worker, shown and paused by people. */

import {
  type Client,
  type IntervalSpec,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import type { Duration } from '@temporalio/common';
import type { Settings } from '../../lib/config/settings.ts';
import { UnencryptedPayloadError } from '../../lib/temporal/codec.ts';
import { type EnvironmentName, taskQueues } from '../../lib/wire/names.ts';
import type { reconcile } from '../reconcile.ts';

export interface ScheduleState {
  readonly scheduleId: string;
  readonly every: string;
  readonly isPaused: boolean;
  /** Why it is paused; empty when it is not. */
  readonly note: string;
  /** ISO 8601 UTC, newest first, with the workflow each started. */
  readonly lastRuns: readonly { readonly at: string; readonly workflowId: string }[];
  readonly nextRuns: readonly string[];
  readonly running: readonly string[];
}

type ScheduleSettings = Pick<Settings, 'environment' | 'reconcileEvery'>;

/** The default would catch up on a year of missed runs; what one run finds after an hour, the next finds too. */
const CATCH_UP_WINDOW: Duration = '1 h';

/** Id of the reconciliation schedule. */
export function scheduleId(environment: EnvironmentName): string {
  return `reconcile/${environment}`;
}

/** Makes the schedule, or changes what differs. A pause that somebody set stays. Safe from many processes at once. */
export async function applySchedule(
  client: Client,
  settings: ScheduleSettings,
  queues = taskQueues(settings.environment),
): Promise<void> {
  const { environment } = settings;
  const every = settings.reconcileEvery as Duration;
  const definition = {
    spec: { intervals: [{ every }] as IntervalSpec[], jitter: jitterOf(settings.reconcileEvery) },
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
  try {
    await client.schedule.create({ scheduleId: scheduleId(environment), ...definition });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const handle = client.schedule.getHandle(scheduleId(environment));
    try {
      await handle.update(({ state }) => ({ ...definition, state }));
    } catch (failure) {
      if (!(failure instanceof UnencryptedPayloadError)) throw failure;
      // Somebody else made it, or changed what it starts: ours takes its place.
      await handle.delete();
      await client.schedule.create({ scheduleId: scheduleId(environment), ...definition });
    }
  }
}

/** @returns null when no schedule was made yet */
export async function showSchedule(
  client: Client,
  settings: ScheduleSettings,
): Promise<ScheduleState | null> {
  try {
    const {
      scheduleId: id,
      spec,
      state,
      info,
    } = await client.schedule.getHandle(scheduleId(settings.environment)).describe();
    const everyMs = spec.intervals?.[0]?.every;
    return {
      scheduleId: id,
      every: everyMs === undefined ? settings.reconcileEvery : inUnits(Number(everyMs)),
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

export async function pauseSchedule(client: Client, settings: ScheduleSettings, note: string): Promise<void> {
  await client.schedule.getHandle(scheduleId(settings.environment)).pause(note);
}

export async function resumeSchedule(client: Client, settings: ScheduleSettings): Promise<void> {
  await client.schedule.getHandle(scheduleId(settings.environment)).unpause();
}

/** Runs it now; skipped while one runs, as the overlap policy says. */
export async function triggerSchedule(client: Client, settings: ScheduleSettings): Promise<void> {
  await client.schedule.getHandle(scheduleId(settings.environment)).trigger(ScheduleOverlapPolicy.SKIP);
}

/** As people write it into the settings: `1h`, `30m`, `90s`../../lib/temporal */
function inUnits(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  return ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`;
}

/** A tenth of the interval, so that several installations do not ask the service in the same second. */
function jitterOf(every: string): Duration {
  const match = /^\s*([\d.]+)\s*(ms|s|m|h|d)/.exec(every);
  const unit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match?.[2] ?? 'ms'] ?? 1;
  return Math.round((Number(match?.[1] ?? 0) * unit) / 10);
}
