/**
 * Runs workflows in this process, with a clock that jumps to the next timer: a test plays months in milliseconds, so hundreds of drawn
 * histories. `workflowModule` replaces `@temporalio/workflow`; `client` is for the code in workflows/client. The same workflows run on
 * a real server in the other tests.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  type Client,
  WorkflowFailedError,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  type Duration,
  type RetryPolicy,
  type SearchAttributePair,
  TerminatedFailure,
} from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { ActivityOptions } from '@temporalio/workflow';
import ms from 'ms';
import { vi } from 'vitest';

/** Ends what never ends. */
const MAX_FIRED = 3_000;
const START_MS = Date.parse('2026-03-09T10:00:00Z');

type Fn = (...args: never[]) => unknown;
type Activities = Readonly<Record<string, Fn>>;
type Workflow = (...args: never[]) => Promise<unknown>;

interface Named {
  readonly name: string;
}

interface Run {
  readonly workflowId: string;
  readonly runId: string;
  readonly type: string;
  readonly taskQueue: string;
  readonly startedAt: number;
  readonly root: Scope;
  readonly signals: Map<string, Fn>;
  readonly queries: Map<string, Fn>;
  readonly early: { readonly name: string; readonly args: readonly unknown[] }[];
  readonly attributes: Map<string, unknown>;
  readonly result: PromiseWithResolvers<unknown>;
  begin: (() => void) | null;
  status: 'RUNNING' | 'COMPLETED' | 'FAILED' | 'TERMINATED';
  commands: number;
}

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

class ContinueAsNew {
  readonly input: unknown;
  constructor(input: unknown) {
    this.input = input;
  }
}

class Scope {
  readonly #onCancel = new Set<() => void>();
  isCancelled = false;

  constructor({ cancellable = true } = {}) {
    if (cancellable) context.getStore()?.scope.onCancel(() => this.cancel());
  }

  static nonCancellable<T>(work: () => Promise<T>): Promise<T> {
    return new Scope({ cancellable: false }).run(work);
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return context.run({ ...current(), scope: this }, async () => work());
  }

  cancel(): void {
    this.isCancelled = true;
    for (const each of this.#onCancel) each();
    this.#onCancel.clear();
  }

  onCancel(each: () => void): () => void {
    if (this.isCancelled) each();
    else this.#onCancel.add(each);
    return () => this.#onCancel.delete(each);
  }
}

interface Context {
  readonly simulation: Simulation;
  readonly run: Run;
  readonly scope: Scope;
}

const context = new AsyncLocalStorage<Context>();

function current(): Context {
  const found = context.getStore();
  if (found === undefined) throw new Error('Outside of a workflow.');
  return found;
}

export class Simulation {
  readonly #workflows: Readonly<Record<string, Workflow>>;
  readonly #activities: Readonly<Record<'billing' | 'warehouse', Activities>>;
  readonly #runs = new Map<string, Run>();
  readonly #timers: Timer[] = [];
  readonly conditions = new Set<{ readonly isTrue: () => boolean; readonly resolve: () => void }>();
  /** Every call of an activity and a sink: seconds since the start, and its name. */
  readonly log: string[] = [];
  /** Commands after which a run should continue as new. */
  continueAfter = Number.POSITIVE_INFINITY;
  /** Called before a signal from one run to another is delivered. */
  onSignal: (name: string) => Promise<void> | undefined = () => undefined;
  /** Characters of the largest input of a run that continues another. */
  largestInput = 0;
  /** Of one run; a history has a few events for each. */
  mostCommands = 0;
  #now = START_MS;
  #inProgress = 0;
  readonly #toBegin = new Set<Run>();

  constructor(
    workflows: Readonly<Record<string, Workflow>>,
    activities: { readonly billing: object; readonly warehouse: object },
  ) {
    this.#workflows = workflows;
    this.#activities = activities as Readonly<Record<'billing' | 'warehouse', Activities>>;
    vi.useFakeTimers({ toFake: ['Date'], now: this.#now });
  }

  get now(): number {
    return this.#now;
  }

  readonly client = {
    withAbortSignal: (_: AbortSignal, work: () => unknown) => work(),
    workflow: {
      start: async (type: string, options: StartOptions) =>
        this.#handle(this.#start(type, options).workflowId),
      signalWithStart: async (type: string, options: StartOptions) => {
        const run = this.#start(type, { ...options, workflowIdConflictPolicy: 'USE_EXISTING' });
        const { signal, signalArgs = [] } = options;
        this.#signal(run, nameOf(signal ?? ''), signalArgs);
      },
      getHandle: (workflowId: string) => this.#handle(workflowId),
    },
  } as unknown as Client;

  /** Lets time pass until it is reached. @throws Error nothing is left to happen, or not within `limit` */
  async until(isReached: () => unknown, limit: Duration = '400 days'): Promise<void> {
    const last = this.#now + inMs(limit);
    for (let fired = 0; fired < MAX_FIRED; fired += 1) {
      await this.#settle();
      if (await isReached()) return;
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) throw new Error('Nothing is left to happen.');
      if (next.at > last) throw new Error(`Not within ${limit}.`);
      this.#fire(next);
    }
    throw new Error(`Not after ${MAX_FIRED} timers; the last calls: ${this.log.slice(-9).join(', ')}.`);
  }

  async pass(time: Duration): Promise<void> {
    let isOver = false;
    this.timer(inMs(time), () => {
      isOver = true;
    });
    await this.until(() => isOver);
  }

  /** No simulated time passes during work of real parts. */
  async real<T>(work: () => Promise<T>): Promise<T> {
    this.#inProgress += 1;
    try {
      return await work();
    } finally {
      this.#inProgress -= 1;
    }
  }

  /** For scripted activities: takes time, and ends with the cancellation of the activity. */
  take(time: Duration): Promise<void> {
    return new Promise((resolve) => void this.timer(inMs(time), resolve));
  }

  timer(milliseconds: number, fire: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, milliseconds), fire };
    this.#timers.push(timer);
    return () => void this.#remove(timer);
  }

  attributeOf(workflowId: string, key: string): unknown {
    return this.#runs.get(workflowId)?.attributes.get(key);
  }

  runsOf(type: string): readonly { readonly workflowId: string; readonly status: Run['status'] }[] {
    return [...this.#runs.values()].filter((run) => run.type === type);
  }

  /** As a server does when the retention of a closed run is over. */
  forget(workflowId: string): void {
    this.#runs.delete(workflowId);
  }

  #remove(timer: Timer): void {
    const at = this.#timers.indexOf(timer);
    if (at >= 0) this.#timers.splice(at, 1);
  }

  #fire(timer: Timer): void {
    this.#remove(timer);
    this.#now = timer.at;
    vi.setSystemTime(timer.at);
    timer.fire();
  }

  async #settle(): Promise<void> {
    for (let round = 0; round < MAX_FIRED; round += 1) {
      do await new Promise((resolve) => setImmediate(resolve));
      while (this.#inProgress > 0);
      const starting = [...this.#toBegin].filter(({ status }) => status === 'RUNNING');
      this.#toBegin.clear();
      for (const { begin } of starting) begin?.();
      const open = [...this.conditions].filter(({ isTrue }) => isTrue());
      if (open.length === 0 && starting.length === 0) return;
      for (const { resolve } of open) resolve();
    }
    throw new Error(`The runs do not settle; the last calls: ${this.log.slice(-9).join(', ')}.`);
  }

  #start(type: string, options: StartOptions): Run {
    const { workflowId, taskQueue, args = [], startDelay } = options;
    const before = this.#runs.get(workflowId);
    if (before?.status === 'RUNNING') {
      if (options.workflowIdConflictPolicy === 'USE_EXISTING') return before;
      throw new Error(`${workflowId} is running.`);
    }
    const run = this.#open({ workflowId, type, taskQueue }, args[0]);
    for (const { key, value } of options.typedSearchAttributes ?? []) run.attributes.set(key.name, value);
    if (startDelay === undefined) this.#toBegin.add(run);
    else this.timer(inMs(startDelay), () => this.#toBegin.add(run));
    return run;
  }

  #open(of: Pick<Run, 'workflowId' | 'type' | 'taskQueue'>, input: unknown): Run {
    const run: Run = {
      ...of,
      ...{ runId: randomUUID(), startedAt: this.#now, root: new Scope({ cancellable: false }) },
      ...{ signals: new Map(), queries: new Map(), early: [], attributes: new Map() },
      ...{ result: Promise.withResolvers(), status: 'RUNNING', commands: 0, begin: null },
    };
    run.result.promise.catch(() => {});
    this.#runs.set(of.workflowId, run);
    run.begin = () => {
      run.begin = null;
      const work = this.#workflows[run.type];
      if (work === undefined) throw new Error(`No workflow ${run.type}.`);
      void this.within(run, async () => work(copied(input) as never)).then(
        (value) => this.#close(run, 'COMPLETED', () => run.result.resolve(copied(value))),
        (error: unknown) => {
          if (run.status === 'RUNNING' && error instanceof ContinueAsNew) this.#continue(run, error.input);
          else this.#close(run, 'FAILED', () => run.result.reject(failed(error)));
        },
      );
    };
    return run;
  }

  #close(run: Run, status: Run['status'], settle: () => void): void {
    if (run.status !== 'RUNNING') return;
    this.mostCommands = Math.max(this.mostCommands, run.commands);
    run.status = status;
    settle();
  }

  #continue(run: Run, input: unknown): void {
    this.mostCommands = Math.max(this.mostCommands, run.commands);
    this.largestInput = Math.max(this.largestInput, JSON.stringify(input).length);
    const next = this.#open(run, input);
    next.early.push(...run.early);
    for (const [key, value] of run.attributes) next.attributes.set(key, value);
    void next.result.promise.then(run.result.resolve, run.result.reject);
    this.#toBegin.add(next);
  }

  note(text: string): void {
    this.log.push(`${Math.round((this.#now - START_MS) / 1_000)} ${text}`);
  }

  within<T>(run: Run, work: () => Promise<T>): Promise<T> {
    return context.run({ simulation: this, run, scope: run.root }, work);
  }

  #signal(run: Run, name: string, args: readonly unknown[]): void {
    if (run.status !== 'RUNNING') throw new WorkflowNotFoundError('closed', run.workflowId, undefined);
    const handler = run.signals.get(name);
    const given = args.map(copied);
    if (handler === undefined) run.early.push({ name, args: given });
    else void this.within(run, async () => handler(...(given as never[])));
    // A further signal ends the delay of a start.
    if (run.early.length > 1) this.#toBegin.add(run);
  }

  signalById(workflowId: string, name: string, args: readonly unknown[]): void {
    const run = this.#runs.get(workflowId);
    if (run === undefined) throw new WorkflowNotFoundError('unknown', workflowId, undefined);
    this.#signal(run, name, args);
  }

  #handle(workflowId: string) {
    const run = (): Run => {
      const found = this.#runs.get(workflowId);
      if (found === undefined) throw new WorkflowNotFoundError('unknown', workflowId, undefined);
      return found;
    };
    return {
      workflowId,
      signal: async (signal: string | Named, ...args: readonly unknown[]) =>
        this.signalById(workflowId, nameOf(signal), args),
      query: async (query: string | Named) => {
        // A server answers after the first task of the run.
        if (!run().queries.has(nameOf(query))) await this.#settle();
        return copied(await run().queries.get(nameOf(query))?.());
      },
      result: () => run().result.promise,
      describe: async () => ({ status: { name: run().status }, workflowId }),
      cancel: async () => run().root.cancel(),
      terminate: async () => {
        const ended = run();
        this.#close(ended, 'TERMINATED', () =>
          ended.result.reject(failed(new TerminatedFailure('terminated'))),
        );
      },
    };
  }

  async callActivity(name: string, options: ActivityOptions, args: readonly unknown[]): Promise<unknown> {
    const { run, scope } = current();
    const queue = options.taskQueue ?? run.taskQueue;
    const activity = this.#activities[queue.endsWith('-warehouse') ? 'warehouse' : 'billing'][name];
    if (activity === undefined) throw new Error(`No activity ${name} on ${queue}.`);
    const isAwaited = options.cancellationType === 'WAIT_CANCELLATION_COMPLETED';
    const fail = (cause: Error) =>
      new ActivityFailure('failed', name, undefined, 'TIMEOUT', undefined, cause);
    const cancelled = fail(new CancelledFailure('cancelled'));
    let heartbeatDetails: unknown;
    for (let attempt = 1; ; attempt += 1) {
      if (scope.isCancelled) throw cancelled;
      run.commands += 1;
      this.note(name);
      const { workflowId, runId } = run;
      const workflowExecution = { workflowId, runId };
      const environment = new MockActivityEnvironment(
        { attempt, workflowExecution, heartbeatDetails, activityType: name },
        { client: this.client, logger: SILENT },
      );
      environment.on('heartbeat', (details) => {
        heartbeatDetails = copied(details);
      });
      const given = args.map(copied) as never[];
      const ending = Promise.withResolvers<never>();
      ending.promise.catch(() => {});
      const forget = scope.onCancel(() => {
        environment.cancel();
        if (!isAwaited) ending.reject(cancelled);
      });
      try {
        const work = environment.run(activity as (...args: unknown[]) => Promise<unknown>, ...given);
        return copied(await Promise.race([work, ending.promise]));
      } catch (error) {
        if (scope.isCancelled) throw cancelled;
        const failure = applicationFailure(error);
        const { maximumAttempts = Number.POSITIVE_INFINITY } = options.retry ?? {};
        if (failure.nonRetryable || attempt >= maximumAttempts) throw fail(failure);
      } finally {
        forget();
      }
      await sleep(nthInterval(options.retry, attempt)).catch(() => {});
    }
  }
}

type StartOptions = Pick<WorkflowStartOptions, 'workflowIdConflictPolicy'> & {
  readonly workflowId: string;
  readonly taskQueue: string;
  readonly args?: readonly unknown[];
  readonly startDelay?: Duration;
  readonly typedSearchAttributes?: readonly SearchAttributePair[];
  readonly signal?: string | Named;
  readonly signalArgs?: readonly unknown[];
};

function nthInterval(retry: RetryPolicy | undefined, attempt: number): number {
  const { initialInterval = '1 s', backoffCoefficient = 2, maximumInterval } = retry ?? {};
  const first = inMs(initialInterval);
  const longest = maximumInterval === undefined ? 100 * first : inMs(maximumInterval);
  return Math.min(first * backoffCoefficient ** (attempt - 1), longest);
}

function applicationFailure(error: unknown): ApplicationFailure {
  if (error instanceof ApplicationFailure) return error;
  return ApplicationFailure.create({
    message: String(error),
    type: error instanceof Error ? error.name : '',
  });
}

function failed(error: unknown): WorkflowFailedError {
  return new WorkflowFailedError('failed', error as Error, 'NON_RETRYABLE_FAILURE');
}

/** As the converter of payloads does. */
function copied(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function nameOf(of: string | Named): string {
  return typeof of === 'string' ? of : of.name;
}

function inMs(duration: Duration): number {
  return typeof duration === 'number' ? duration : ms(duration);
}

function sleep(duration: Duration): Promise<void> {
  const { simulation, scope, run } = current();
  run.commands += 1;
  return new Promise((resolve, reject) => {
    const cancelTimer = simulation.timer(inMs(duration), () => {
      forget();
      resolve();
    });
    const forget = scope.onCancel(() => {
      cancelTimer();
      reject(new CancelledFailure('cancelled'));
    });
  });
}

async function condition(isTrue: () => boolean, timeout?: Duration): Promise<boolean | undefined> {
  const { simulation, scope, run } = current();
  if (isTrue()) return timeout === undefined ? undefined : true;
  if (timeout !== undefined) run.commands += 1;
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      simulation.conditions.delete(entry);
      cancelTimer();
      forget();
      settle();
    };
    const entry = { isTrue, resolve: () => end(() => resolve(timeout === undefined ? undefined : true)) };
    const cancelTimer =
      timeout === undefined ? () => {} : simulation.timer(inMs(timeout), () => end(() => resolve(false)));
    let forget = (): void => {};
    simulation.conditions.add(entry);
    forget = scope.onCancel(() => end(() => reject(new CancelledFailure('cancelled'))));
  });
}

function proxyActivities(options: ActivityOptions) {
  return new Proxy(
    {},
    {
      get:
        (_, name) =>
        (...args: readonly unknown[]) =>
          current().simulation.callActivity(String(name), options, args),
    },
  );
}

const SILENT = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

export const workflowModule = {
  ...{ sleep, condition, proxyActivities, CancellationScope: Scope, log: SILENT },
  allHandlersFinished: () => true,
  proxyLocalActivities: (options: ActivityOptions) =>
    proxyActivities({ ...options, taskQueue: 'local-warehouse' }),
  proxySinks: () =>
    new Proxy(
      {},
      {
        get: (_, sink) =>
          new Proxy(
            {},
            { get: (_, name) => () => current().simulation.note(`${String(sink)}.${String(name)}`) },
          ),
      },
    ),
  setHandler({ name, type }: Named & { readonly type: 'signal' | 'query' }, handler: Fn) {
    const { run } = current();
    if (type === 'query') return void run.queries.set(name, handler);
    run.signals.set(name, handler);
    const waiting = run.early.splice(0);
    for (const signal of waiting)
      if (signal.name === name) handler(...(signal.args as never[]));
      else run.early.push(signal);
  },
  upsertSearchAttributes(pairs: readonly SearchAttributePair[]) {
    const { run } = current();
    run.commands += 1;
    for (const { key, value } of pairs) run.attributes.set(key.name, value);
  },
  continueAsNew(input: unknown): never {
    // A signal that arrives from now on is for the next run.
    current().run.signals.clear();
    throw new ContinueAsNew(copied(input));
  },
  getExternalWorkflowHandle: (workflowId: string) => ({
    async signal(signal: Named, ...args: readonly unknown[]) {
      const { run, simulation } = current();
      run.commands += 1;
      await simulation.onSignal(signal.name);
      simulation.signalById(workflowId, signal.name, args);
    },
  }),
  workflowInfo() {
    const { run, simulation } = current();
    return {
      ...{ workflowId: run.workflowId, runId: run.runId, workflowType: run.type, taskQueue: run.taskQueue },
      startTime: new Date(run.startedAt),
      continueAsNewSuggested: run.commands >= simulation.continueAfter,
    };
  },
};
