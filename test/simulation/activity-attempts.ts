/**
 * An activity's way in virtual time: attempts that take their time, fail, are cancelled, or are lost with a worker that
 * dies before or after the deed; retries as their policy says. The activities themselves are the real ones.
 */

import {
  ApplicationFailure,
  CancelledFailure,
  defaultFailureConverter,
  defaultPayloadConverter,
} from '@temporalio/common';
import { tsToMs } from '@temporalio/common/lib/time.js';
import protos from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import type { Agenda } from './agenda.ts';
import type { Dice } from './dice.ts';
import { fromPayload, type Job, toPayload } from './workflow-sandbox.ts';

export interface AttemptsOptions {
  readonly agenda: Agenda;
  readonly dice: Dice;
  /** By name; asked anew for each attempt, since a restart makes new ones. */
  readonly activities: () => Readonly<Record<string, (input: never) => Promise<unknown>>>;
  /** What `getClient` answers inside activities. */
  readonly client: () => unknown;
}

/** One activity that a run has asked for, until the run is told how it ended. */
export interface ActivityTask {
  requestCancel(): void;
  /** Nobody waits for it any more: the run is over. */
  forget(): void;
}

export type ScheduleActivity =
  | protos.coresdk.workflow_commands.IScheduleActivity
  | protos.coresdk.workflow_commands.IScheduleLocalActivity;

type Outcome = { readonly result: unknown } | { readonly error: unknown };

const silent = new DefaultLogger('ERROR', () => {});

/** @param onEnd is told once how it ended, as the job that tells a workflow */
export function startActivity(
  command: ScheduleActivity,
  workflowId: string,
  options: AttemptsOptions,
  onEnd: (job: Job) => void,
): ActivityTask {
  const { agenda, dice } = options;
  const seq = command.seq ?? 0;
  const name = command.activityType ?? '';
  const args = (command.arguments ?? []).map(fromPayload);
  const waitsForCancellation =
    command.cancellationType ===
    protos.coresdk.workflow_commands.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED;
  const deadAfterMs = tsToMs(
    ('heartbeatTimeout' in command ? command.heartbeatTimeout : null) ?? command.startToCloseTimeout,
  );
  const lostKey = {};
  let attempt = 1;
  /** Changes with every attempt and at the end: what an older attempt reports is not heard. */
  let token = 0;
  let isCancelRequested = false;
  let isOver = false;

  begin(dice.between(0, 30));
  return {
    requestCancel() {
      isCancelRequested = true;
      // The SDK tells a workflow at once unless it wants to wait; the attempt itself may go on unheard.
      if (!waitsForCancellation) endCancelled();
    },
    forget() {
      isOver = true;
    },
  };

  /** What an attempt does to the world happens at its beginning or at its end, what it reports at its end. */
  function begin(afterMs: number): void {
    token += 1;
    const mine = token;
    const isCurrent = (): boolean => !isOver && token === mine;
    const isUnheard = (): boolean => isOver && isCancelRequested && !waitsForCancellation;
    agenda.add(afterMs, 'server', async () => {
      if (!isCurrent()) return;
      agenda.onRestart(lostKey, () => {
        if (isCurrent()) loseAttempt();
      });
      const early = dice.chance(0.5) ? await perform() : null;
      agenda.add(dice.pick([1, 5, 50, 400, 4_000]), 'worker', async () => {
        agenda.offRestart(lostKey);
        if (!isCurrent()) {
          // The workflow was told that it is cancelled; the worker has not heard of it, and does the deed.
          if (isUnheard() && early === null && dice.chance(0.5)) await perform();
          return;
        }
        const stops = early === null && isCancelRequested && waitsForCancellation && dice.chance(0.7);
        if (stops) endCancelled();
        else report(early ?? (await perform()));
      });
    });
  }

  /** A worker that dies in the middle is missed after the heartbeat timeout. */
  function loseAttempt(): void {
    if (isCancelRequested) endCancelled();
    else retryOrFail(ApplicationFailure.create({ type: 'timeout', message: `${name} is lost` }), deadAfterMs);
  }

  async function perform(): Promise<Outcome> {
    const activity = options.activities()[name];
    if (activity === undefined) throw new Error(`There is no activity ${name}.`);
    const info = { attempt, activityType: name, workflowExecution: { workflowId, runId: workflowId } };
    const environment = new MockActivityEnvironment(info, {
      logger: silent,
      client: options.client() as never,
    });
    try {
      return {
        result: await environment.run(activity as (...args: unknown[]) => Promise<unknown>, ...args),
      };
    } catch (error) {
      return { error };
    }
  }

  function report(outcome: Outcome): void {
    if ('result' in outcome) end({ completed: { result: toPayload(outcome.result) } });
    else if (outcome.error instanceof CancelledFailure && isCancelRequested) endCancelled();
    else if (outcome.error instanceof ApplicationFailure) retryOrFail(outcome.error, 0);
    else throw outcome.error;
  }

  function retryOrFail(error: ApplicationFailure, missedAfterMs: number): void {
    const { maximumAttempts, initialInterval, maximumInterval, backoffCoefficient } =
      command.retryPolicy ?? {};
    const isLast = (maximumAttempts ?? 0) > 0 && attempt >= (maximumAttempts ?? 0);
    if (error.nonRetryable === true || isLast || isCancelRequested) {
      const cause = defaultFailureConverter.errorToFailure(error, defaultPayloadConverter);
      end({ failed: { failure: wrapped(cause) } });
      return;
    }
    const firstMs = initialInterval ? tsToMs(initialInterval) : 1_000;
    const mostMs = maximumInterval ? tsToMs(maximumInterval) : firstMs * 100;
    const backoffMs = Math.min(firstMs * (backoffCoefficient ?? 2) ** (attempt - 1), mostMs);
    attempt += 1;
    begin(missedAfterMs + (typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : backoffMs));
  }

  function endCancelled(): void {
    end({ cancelled: { failure: wrapped({ message: 'cancelled', canceledFailureInfo: {} }) } });
  }

  function end(result: protos.coresdk.activity_result.IActivityResolution): void {
    if (isOver) return;
    isOver = true;
    agenda.offRestart(lostKey);
    onEnd({ resolveActivity: { seq, result } });
  }

  /** What the SDK makes an `ActivityFailure` of. */
  function wrapped(cause: protos.temporal.api.failure.v1.IFailure): protos.temporal.api.failure.v1.IFailure {
    return {
      message: 'Activity task failed',
      source: 'Server',
      activityFailureInfo: { activityType: { name }, activityId: String(seq) },
      cause,
    };
  }
}
