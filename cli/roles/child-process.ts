/** One process of `up`: started, started again when it ends by itself, and drained when `up` is. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SHOWN_FOR_MS } from '../../lib/alerts/alerts.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { CliError, EXIT, type ExitCode } from '../errors.ts';
import { childEnvironment, childSettings } from './child-environment.ts';
import type { ChildRole, ChildState, FromChild, ToChild } from './child-messages.ts';
import type { RoleContext } from './run-role.ts';

export interface UpProcess {
  /**
   * Resolves when it is ready for the first time, or has ended before and is started again.
   *
   * @throws CliError what keeps it from starting needs a person
   */
  readonly started: Promise<void>;
  /** Of its last start; empty before. */
  addresses(): Readonly<Record<string, string>>;
  /** Resolves when the worker takes tasks from Temporal for the first time. */
  readonly polling: Promise<void>;
  /** What it said last of itself, and when by `performance.now()`; null until then and while it is away. */
  state(): { readonly state: ChildState; readonly atMs: number } | null;
  /** true: it ended at least twice, and its present life is shorter than a minute. */
  isLooping(): boolean;
  tell(message: ToChild): void;
  /** Ends one that no longer hears; it is started again. */
  kill(): void;
  /** Lets it drain; resolves when it is gone. */
  close(): Promise<void>;
}

export interface UpProcessOptions {
  readonly role: ChildRole;
  /** Told where the last start listened: a port that was free for the first is asked for again. */
  readonly settings: (addresses: Readonly<Record<string, string>>) => Settings;
  readonly context: Pick<RoleContext, 'log' | 'alerts' | 'metrics' | 'stopping'>;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** After so long a life the next pause is short again. */
const SOUND_AFTER_MS = 60_000;
/** One end may be chance, as of a kill -9; from so many on it is a loop. */
const LOOP_FROM = 2;
/** A terminal interrupts all processes at once; this one may hear it, and be gone, before `up` does. */
const INTERRUPTED_WITHIN_MS = 1_000;
/** A little more than a process gives itself to drain. */
const GONE_WITHIN_MS = 52_000;
const MAIN = fileURLToPath(new URL(`./child-main${extname(import.meta.filename)}`, import.meta.url));

export const NAMES: Readonly<Record<ChildRole, string>> = { webhook: 'endpoint', worker: 'worker' };

/** The words by which the processes of a data folder are found, also by the `up` after one that was killed. */
export function wordsOf(role: ChildRole, { dataDir }: Pick<Settings, 'dataDir'>): readonly string[] {
  return [MAIN, role, dataDir];
}

export function startProcess({ role, settings, context }: UpProcessOptions): UpProcess {
  const { log, alerts, stopping } = context;
  const restarts = context.metrics.counter('process_restarts_total');
  const started = deferred<void>();
  const polling = deferred<void>();
  const closing = new AbortController();
  let child: ChildProcess | null = null;
  let last: { state: ChildState; atMs: number } | null = null;
  let addresses: Readonly<Record<string, string>> = {};
  let wasReady = false;
  let isUp = false;
  let failures = 0;
  let bornMs = performance.now();

  /** One life. @returns what it said of why it cannot start, if it did */
  async function live(): Promise<CliError | null> {
    let failure: CliError | null = null;
    isUp = false;
    const born = spawn(role, settings(addresses));
    child = born;
    let recovery: NodeJS.Timeout | undefined;
    born.on('message', (message: FromChild) => {
      if (message.kind === 'failed') failure = asCliError(message);
      else if (message.kind === 'polling') polling.resolve();
      else if (message.kind === 'state') last = { state: message.state, atMs: performance.now() };
      else {
        wasReady = true;
        isUp = true;
        addresses = message.addresses;
        started.resolve();
        // The dashboard, which ends with the worker, shows it too.
        const shownForMs = failures < LOOP_FROM ? SHOWN_FOR_MS : SOUND_AFTER_MS;
        recovery = setTimeout(() => alerts.resolve(`process/${role}`), shownForMs).unref();
      }
    });
    // One that cannot even be started, where the machine has no room for it, is tried again as well.
    const [code, signal] = (await once(born, 'exit').catch((error: unknown) => [String(error), null])) as [
      number | string | null,
      NodeJS.Signals | null,
    ];
    clearTimeout(recovery);
    child = null;
    last = null;
    if (failure !== null || closing.signal.aborted) return failure;
    if (code === 0 && !stopping.aborted)
      await sleep(INTERRUPTED_WITHIN_MS, undefined, { signal: stopping }).catch(() => undefined);
    if (stopping.aborted) return null;
    const how = signal === null ? `exit code ${code}` : signal;
    return new CliError(EXIT.bug, `the process of the ${NAMES[role]} ended (${how})`, {
      hint: 'what it wrote before says why',
    });
  }

  const living = (async () => {
    let isFirst = true;
    for (; !closing.signal.aborted; isFirst = false) {
      bornMs = performance.now();
      const failure = await live();
      if (closing.signal.aborted || failure === null) return;
      // A person stands before the first start of an endpoint, and before settings that cannot be right.
      if (isFirst && !wasReady && (role === 'webhook' || A_PERSON_MUST.has(failure.exitCode))) throw failure;
      failures = performance.now() - bornMs > SOUND_AFTER_MS ? 1 : failures + 1;
      restarts.inc({ process: NAMES[role] });
      const detail = [failure.message, failure.subject, failure.hint].filter(Boolean).join('; ');
      log.error({ process: NAMES[role], failures, detail }, 'a process ended and is started again');
      alerts.raise({
        key: `process/${role}`,
        title: `The process of the ${NAMES[role]} ended and is started again`,
        detail,
      });
      started.resolve();
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
      await sleep(pauseMs, undefined, { signal: closing.signal });
    }
  })().catch((error: unknown) => {
    if (!closing.signal.aborted) started.reject(error);
  });

  return {
    started: started.promise,
    polling: polling.promise,
    addresses: () => addresses,
    state: () => last,
    isLooping: () => failures >= LOOP_FROM && performance.now() - bornMs <= SOUND_AFTER_MS,
    tell(message) {
      if (child?.connected) child.send(message, () => undefined);
    },
    kill: () => void child?.kill('SIGKILL'),
    async close() {
      closing.abort(new Error('closing'));
      const leaving = child;
      // One that has not begun has nothing to drain, and whoever waits for it waits for a start that nobody wants.
      if (!isUp) leaving?.kill('SIGKILL');
      else {
        alerts.resolve(`process/${role}`);
        if (leaving?.connected) leaving.send({ kind: 'stop' } satisfies ToChild, () => undefined);
      }
      const late = setTimeout(() => leaving?.kill('SIGKILL'), GONE_WITHIN_MS);
      await living;
      clearTimeout(late);
    },
  };
}

/** Usage, credentials, a lock: what trying again does not mend. */
const A_PERSON_MUST: ReadonlySet<ExitCode> = new Set([EXIT.usage, EXIT.refused, EXIT.locked]);

function spawn(role: ChildRole, settings: Settings): ChildProcess {
  const child = fork(MAIN, [...wordsOf(role, settings).slice(1)], {
    serialization: 'advanced',
    env: childEnvironment(role, settings, process.env),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send({
    kind: 'run',
    settings: childSettings(role, settings),
    verbose: process.argv.includes('--verbose'),
  } satisfies ToChild);
  return child;
}

function asCliError({ error, stack }: Extract<FromChild, { kind: 'failed' }>): CliError {
  const { exitCode, what, subject, hint } = error;
  const cause = Object.assign(new Error(what), { stack });
  return new CliError(exitCode, what, {
    ...(subject === null ? {} : { subject }),
    ...(hint === null ? {} : { hint }),
    cause,
  });
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {}); // Whoever waits is told; nobody may be waiting any more.
  return { promise, resolve, reject };
}
