/**
 * Runs our workflows in the very sandbox that a worker runs them in, without a server: whoever calls decides what
 * happens to a run and when, and sees the commands that it answers with. So a simulation drives the real code, with
 * cancellation scopes, conditions and all, as slowly or as quickly as it likes.
 */

import { readFile } from 'node:fs/promises';
import { defaultPayloadConverter, TypedSearchAttributes } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import protos from '@temporalio/proto';
import { parseWorkflowCode } from '@temporalio/worker/lib/worker.js';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

export type Job = protos.coresdk.workflow_activation.IWorkflowActivationJob;
export type Command = protos.coresdk.workflow_commands.IWorkflowCommand;

/** What happened to a run at one instant, and what it answered. */
export interface Turn {
  readonly atMs: number;
  readonly jobs: readonly Job[];
  readonly commands: readonly Command[];
  /** Switches of the SDK that were on; the server keeps them with the history, and a replay goes by them. */
  readonly sdkFlags: readonly number[];
}

export interface StartOfRun {
  readonly workflowType: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly taskQueue: string;
  readonly args: readonly unknown[];
  readonly atMs: number;
  /** How many events make the server suggest to continue as new. */
  readonly continueAsNewAfter: number;
}

/** A run in memory; `evict` it and `createRun` with its turns replays it. */
export interface SandboxedRun {
  /** @throws Error the workflow code failed as no workflow may */
  turn(atMs: number, jobs: readonly Job[]): Promise<Turn>;
  readonly turns: readonly Turn[];
  /** What the workflow logged as a warning or worse. */
  warnings(): Promise<readonly string[]>;
  evict(): Promise<void>;
}

/** Code that answers another time differently than the first time would stall a run for ever. */
export class NonDeterminismError extends Error {
  override readonly name = 'NonDeterminismError';
}

export type WorkflowSandbox = Awaited<ReturnType<typeof createWorkflowSandbox>>;

/** A limit of time makes Node start and end a thread for each of the fifty calls of a seed: most of what a seed waits for. */
const NO_LIMIT = undefined as unknown as number;

/** @param mutate changes the bundle's code, to prove that the simulation notices */
export async function createWorkflowSandbox(options: {
  readonly codePath: string;
  readonly activityNames: readonly string[];
  readonly mutate?: (code: string) => string;
}) {
  const { codePath, activityNames, mutate = (code) => code } = options;
  const bundle = parseWorkflowCode(mutate(await readFile(codePath, 'utf8')), codePath);
  const creator = await ReusableVMWorkflowCreator.create(bundle, NO_LIMIT, new Set(activityNames));
  // Its hooks look at every promise of this process; a stack trace of a workflow is not worth that here.
  globalHandlers.uninstall();
  globalHandlers.promiseHookInstalled = false;

  const live = new Set<{ dispose(): Promise<void> }>();

  /** @param past replays these turns first. @throws NonDeterminismError they are answered differently */
  async function createRun(start: StartOfRun, past: readonly Turn[] = []): Promise<SandboxedRun> {
    const { workflowType, workflowId, runId, taskQueue, atMs } = start;
    const workflow = await creator.createWorkflow({
      info: infoOf(start),
      randomnessSeed: [0, 0, 0, 0, 0, 0, 0, 1],
      now: atMs,
      showStackTraceSources: false,
    });
    live.add(workflow);
    const turns: Turn[] = [];
    let events = 0;

    /**
     * @param told the flags of the turn that is replayed; null: it is a new one
     * @param marked changes of code that the replayed turn knew of, as its markers in the history say
     */
    async function take(
      at: number,
      jobs: readonly Job[],
      told: readonly number[] | null,
      marked: readonly Job[] = [],
    ): Promise<Turn> {
      const isFirst = turns.length === 0;
      events += jobs.length + 3;
      const completion = await workflow.activate(
        protos.coresdk.workflow_activation.WorkflowActivation.fromObject({
          runId,
          timestamp: msToTs(at),
          isReplaying: told !== null,
          availableInternalFlags: [...(told ?? turns.at(-1)?.sdkFlags ?? [])],
          historyLength: events,
          historySizeBytes: events * 300,
          continueAsNewSuggested: events > start.continueAsNewAfter,
          jobs: isFirst ? [initializeJob(start), ...marked, ...jobs] : [...marked, ...jobs],
        }),
      );
      if (completion.failed) {
        throw new Error(`${workflowType} ${workflowId}: ${completion.failed.failure?.message ?? 'failed'}`);
      }
      const commands = completion.successful?.commands ?? [];
      events += commands.length;
      const turn = { atMs: at, jobs, commands, sdkFlags: completion.successful?.usedInternalFlags ?? [] };
      turns.push(turn);
      return turn;
    }

    for (const { atMs: at, jobs, commands, sdkFlags } of past) {
      const marked = commands.flatMap(({ setPatchMarker }) =>
        setPatchMarker ? [{ notifyHasPatch: { patchId: setPatchMarker.patchId ?? '' } }] : [],
      );
      const again = textOf((await take(at, jobs, sdkFlags, marked)).commands);
      if (again !== textOf(commands)) {
        throw new NonDeterminismError(
          `${workflowId} answered\n${again}\nwhere it had answered\n${textOf(commands)}`,
        );
      }
    }
    return {
      turns,
      turn: (at, jobs) => take(at, jobs, null),
      async warnings() {
        const calls = await workflow.getAndResetSinkCalls();
        return calls
          .filter(({ fnName }) => fnName === 'warn' || fnName === 'error')
          .map(({ args }) => String(args[0]));
      },
      async evict() {
        if (live.delete(workflow)) await workflow.dispose();
      },
    };

    function initializeJob({ args }: StartOfRun): Job {
      return {
        initializeWorkflow: {
          ...{ workflowType, workflowId, attempt: 1 },
          ...{ firstExecutionRunId: runId, originalExecutionRunId: runId, startTime: msToTs(atMs) },
          arguments: args.map((arg) => toPayload(arg)),
          workflowTaskTimeout: msToTs(10_000),
          headers: {},
        },
      };
    }

    function infoOf(of: StartOfRun) {
      return {
        ...{ workflowId: of.workflowId, runId, workflowType, taskQueue, namespace: 'default' },
        ...{ firstExecutionRunId: runId, originalExecutionRunId: runId, attempt: 1 },
        ...{ searchAttributes: {}, typedSearchAttributes: new TypedSearchAttributes() },
        ...{ startTime: new Date(atMs), runStartTime: new Date(atMs), taskTimeoutMs: 10_000 },
        ...{ historyLength: 0, historySize: 0, continueAsNewSuggested: false },
        ...{ targetWorkerDeploymentVersionChanged: false, currentBuildId: '' },
        unsafe: {
          ...{ now: () => atMs, isReplaying: false, isReplayingHistoryEvents: false },
          random: { random: Math.random },
        },
      } as unknown as Parameters<typeof creator.createWorkflow>[0]['info'];
    }
  }

  /** What a story that broke off left in memory. */
  async function evictAll(): Promise<void> {
    for (const workflow of live) await workflow.dispose();
    live.clear();
  }

  return {
    createRun,
    evictAll,
    async close() {
      await evictAll();
      await creator.destroy();
    },
  };
}

export function toPayload(value: unknown): protos.temporal.api.common.v1.IPayload {
  return defaultPayloadConverter.toPayload(value) ?? {};
}

export function fromPayload(payload: protos.temporal.api.common.v1.IPayload | null | undefined): unknown {
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}

/** Commands as text that can be compared and read. */
function textOf(commands: readonly Command[]): string {
  return commands
    .map((command) => JSON.stringify(protos.coresdk.workflow_commands.WorkflowCommand.fromObject(command)))
    .join('\n');
}
