/**
 * Temporal in virtual time: keeps runs, tasks, timers and signals as the server does, in an order that dice throw, and
 * fails as it does. Workflow code runs in the SDK's own sandbox, activities are the real ones; only the server is ours.
 */

import { tsToMs } from '@temporalio/common/lib/time.js';
import { type ActivityTask, type AttemptsOptions, startActivity } from './activity-attempts.ts';
import {
  type Command,
  fromPayload,
  type Job,
  type SandboxedRun,
  type StartOfRun,
  type Turn,
  toPayload,
  type WorkflowSandbox,
} from './workflow-sandbox.ts';

export interface VirtualTemporalOptions extends AttemptsOptions {
  readonly sandbox: WorkflowSandbox;
  /** Every so many events a run is asked to continue as new. */
  readonly continueAsNewAfter: number;
}

export interface WorkflowStart {
  readonly workflowType: string;
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly args: readonly unknown[];
  /** Before its first task, unless a `signalWithStart` comes meanwhile. */
  readonly delayMs?: number;
}

interface Run {
  readonly start: StartOfRun;
  /** null while the worker does not have it in memory. */
  vm: SandboxedRun | null;
  /** The history: what replay is made of. */
  turns: readonly Turn[];
  jobs: Job[];
  isTaskDue: boolean;
  isOpen: boolean;
  readonly timers: Set<number>;
  readonly activities: Map<number, ActivityTask>;
}

/** Thrown by calls while the server is away. */
export class TemporalAwayError extends Error {
  override readonly name = 'TemporalAwayError';
}

export type VirtualTemporal = ReturnType<typeof createVirtualTemporal>;

export function createVirtualTemporal(options: VirtualTemporalOptions) {
  const { agenda, dice, sandbox, continueAsNewAfter } = options;
  /** The last run of each id. */
  const runs = new Map<string, Run>();
  const warnings: string[] = [];
  let isAway = false;
  let runCount = 0;
  let replays = 0;

  function start({ workflowType, workflowId, taskQueue, args, delayMs = 0 }: WorkflowStart): Run {
    runCount += 1;
    const run: Run = {
      start: {
        ...{ workflowType, workflowId, taskQueue, args, continueAsNewAfter },
        ...{ runId: `${workflowId}#${runCount}`, atMs: agenda.nowMs() },
      },
      ...{ vm: null, turns: [], jobs: [], isTaskDue: false, isOpen: true },
      ...{ timers: new Set(), activities: new Map() },
    };
    runs.set(workflowId, run);
    if (delayMs === 0) wake(run);
    else {
      agenda.add(delayMs, 'server', async () => {
        if (run.isOpen && run.turns.length === 0) wake(run);
      });
    }
    return run;
  }

  function openRun(workflowId: string): Run | null {
    const run = runs.get(workflowId);
    return run?.isOpen === true ? run : null;
  }

  /** A workflow task, once: what comes meanwhile joins it. */
  function wake(run: Run): void {
    if (run.isTaskDue) return;
    run.isTaskDue = true;
    agenda.add(dice.between(0, 20), 'server', async () => {
      run.isTaskDue = false;
      if (run.isOpen) await takeTurn(run);
    });
  }

  function tell(run: Run, job: Job): void {
    run.jobs.push(job);
    wake(run);
  }

  async function takeTurn(run: Run): Promise<void> {
    if (run.vm === null && run.turns.length > 0) replays += 1;
    const vm = run.vm ?? (await sandbox.createRun(run.start, run.turns));
    run.vm = vm;
    const jobs = run.jobs.splice(0);
    const turn = await vm.turn(agenda.nowMs(), jobs);
    warnings.push(...(await vm.warnings()));
    // What the server does when a signal arrives while a workflow ends: the task counts for nothing and comes again.
    const isOvertaken = turn.commands.some(endsRun) && dice.chance(0.3);
    if (isOvertaken) {
      run.jobs.unshift(...jobs);
      wake(run);
    } else {
      run.turns = [...run.turns, turn];
      for (const command of turn.commands) obey(run, command);
    }
    if (isOvertaken || !run.isOpen) await evict(run);
  }

  async function evict(run: Run): Promise<void> {
    const { vm } = run;
    run.vm = null;
    await vm?.evict();
  }

  function obey(run: Run, command: Command): void {
    // One in the workflow's own process takes as long, fails and is lost alike.
    const scheduled = command.scheduleActivity ?? command.scheduleLocalActivity;
    const cancelled = command.requestCancelActivity ?? command.requestCancelLocalActivity;
    if (scheduled) {
      const seq = scheduled.seq ?? 0;
      const activity = startActivity(scheduled, run.start.workflowId, options, (job) => {
        run.activities.delete(seq);
        tell(run, job);
      });
      run.activities.set(seq, activity);
    } else if (cancelled) {
      run.activities.get(cancelled.seq ?? 0)?.requestCancel();
    } else if (command.startTimer) {
      const seq = command.startTimer.seq ?? 0;
      run.timers.add(seq);
      agenda.add(tsToMs(command.startTimer.startToFireTimeout), 'server', async () => {
        if (run.timers.delete(seq)) tell(run, { fireTimer: { seq } });
      });
    } else if (command.cancelTimer) {
      run.timers.delete(command.cancelTimer.seq ?? 0);
    } else if (command.completeWorkflowExecution) {
      close(run);
    } else if (command.continueAsNewWorkflowExecution) {
      const { workflowType, workflowId, taskQueue } = run.start;
      const args = (command.continueAsNewWorkflowExecution.arguments ?? []).map(fromPayload);
      close(run);
      start({ workflowType, workflowId, taskQueue, args });
    } else if (!command.upsertWorkflowSearchAttributes && !command.setPatchMarker) {
      throw new Error(`${run.start.workflowId} wants what nobody expects: ${Object.keys(command).join()}`);
    }
  }

  function close(run: Run): void {
    run.isOpen = false;
    run.timers.clear();
    for (const activity of run.activities.values()) activity.forget();
    run.activities.clear();
  }

  function assertThere(): void {
    if (isAway) throw new TemporalAwayError('Temporal is away.');
  }

  return {
    start,
    assertThere,
    isOpen: (workflowId: string) => openRun(workflowId) !== null,
    /** What workflows logged as warnings: unfinished handlers among them. */
    warnings: (): readonly string[] => warnings,
    replays: () => replays,
    openIds: (): readonly string[] => [...runs.values()].filter(({ isOpen }) => isOpen).map(idOf),
    /** @throws TemporalAwayError */
    signalWithStart(what: WorkflowStart, signalName: string, args: readonly unknown[]): void {
      assertThere();
      const job: Job = { signalWorkflow: { signalName, input: args.map(toPayload), headers: {} } };
      const open = openRun(what.workflowId);
      if (open === null) start(what).jobs.push(job);
      else tell(open, job);
    },
    /** Signals fail and tasks wait until it is back. */
    goAway(forMs: number): void {
      isAway = true;
      agenda.hold('server', forMs);
      agenda.add(forMs, 'world', async () => {
        isAway = false;
      });
    },
    /** Every run is forgotten by the worker and replayed when something happens to it. */
    async evictAll(): Promise<void> {
      for (const run of runs.values()) await evict(run);
    },
    /** The server lost a run with all it knew, as a database that is restored from an old copy does. */
    async lose(workflowId: string): Promise<void> {
      const run = openRun(workflowId);
      if (run === null) return;
      close(run);
      await evict(run);
    },
  };
}

function idOf({ start }: Run): string {
  return start.workflowId;
}

function endsRun(command: Command): boolean {
  return Boolean(command.completeWorkflowExecution ?? command.continueAsNewWorkflowExecution);
}
