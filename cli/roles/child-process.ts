import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SHOWN_FOR_MS } from '../../lib/alerts/alerts.ts';
import type { Settings } from '../../lib/config/settings.ts';
import type { ComponentHealth } from '../../lib/health/health.ts';
import { CliError, type DescribedError, EXIT, type ExitCode } from '../errors.ts';
import type { RoleContext } from './run-role.ts';

export const CHILD_ROLES = ['webhook', 'worker'] as const;
export type ChildRole = (typeof CHILD_ROLES)[number];

export interface ChildState {
  readonly components: Readonly<Record<string, ComponentHealth>>;
  readonly metrics: string;
}

export type ToChild =
  /** Secrets are sent here: other users can read a command line, and every child process has the environment. */
  | { readonly kind: 'run'; readonly settings: Settings; readonly verbose: boolean }
  | { readonly kind: 'stop' }
  | { readonly kind: 'neighbour'; readonly name: string; readonly state: ChildState };

export type FromChild =
  | { readonly kind: 'ready'; readonly addresses: Readonly<Record<string, string>> }
  | { readonly kind: 'state'; readonly state: ChildState }
  | { readonly kind: 'failed'; readonly error: DescribedError; readonly stack: string };

export interface UpProcess {
  /**
   * Resolves when it is ready for the first time, or is restarted after a failed start. @throws CliError it cannot
   * start until a person fixes the cause
   */
  readonly started: Promise<void>;
  addresses(): Readonly<Record<string, string>>;
  state(): ChildState | null;
  silentMs(): number;
  send(message: ToChild): void;
  kill(): void;
  close(): Promise<void>;
}

/** A terminal interrupts all processes at once: within this time `up` receives the signal too, and restarts nothing. */
const RESTART_AFTER_MS = 1_000;
/** Slightly longer than a process gives itself to drain. */
const ENDS_WITHIN_MS = 52_000;
const MAIN = fileURLToPath(new URL(`./child-main${extname(import.meta.filename)}`, import.meta.url));
/** Errors that a restart does not fix. */
const NEEDS_PERSON: ReadonlySet<ExitCode> = new Set([EXIT.usage, EXIT.refused, EXIT.locked]);

export const NAMES: Readonly<Record<ChildRole, string>> = { webhook: 'endpoint', worker: 'worker' };

/** The next `up` finds the processes that a killed one left by these. */
export function argumentsOf(role: ChildRole, { dataDir }: Pick<Settings, 'dataDir'>): readonly string[] {
  return [MAIN, role, dataDir];
}

/** @param options.settings is given the addresses of the last start, so that a port that was free is kept */
export function startProcess(options: {
  readonly role: ChildRole;
  readonly settings: (addresses: Readonly<Record<string, string>>) => Settings;
  readonly context: Pick<RoleContext, 'log' | 'alerts' | 'metrics' | 'stopping'>;
}): UpProcess {
  const { role } = options;
  const { log, alerts, metrics, stopping } = options.context;
  const restarts = metrics.counter('process_restarts_total');
  const started = Promise.withResolvers<void>();
  started.promise.catch(() => undefined);
  const closing = new AbortController();
  const ending = AbortSignal.any([stopping, closing.signal]);
  let child: ChildProcess | null = null;
  let newest: { readonly state: ChildState; readonly atMs: number } | null = null;
  let addresses: Readonly<Record<string, string>> = {};
  let isReady = false;

  async function runOnce(): Promise<CliError> {
    let failure: CliError | null = null;
    let recovery: NodeJS.Timeout | undefined;
    const forked = spawn(role, options.settings(addresses));
    child = forked;
    forked.on('message', (message: FromChild) => {
      if (message.kind === 'failed') failure = asCliError(message);
      else if (message.kind === 'state') newest = { state: message.state, atMs: performance.now() };
      else {
        isReady = true;
        addresses = message.addresses;
        started.resolve();
        recovery = setTimeout(() => alerts.resolve(`process/${role}`), SHOWN_FOR_MS).unref();
      }
    });
    // `once` rejects when the process cannot be started, for example without memory.
    const [code, signal] = await once(forked, 'exit').catch((error: unknown) => [String(error), null]);
    clearTimeout(recovery);
    child = null;
    newest = null;
    const how = signal === null ? `exit code ${code}` : signal;
    return (
      failure ??
      new CliError(EXIT.bug, `the process of the ${NAMES[role]} ended (${how})`, {
        hint: 'its last log lines show the reason',
      })
    );
  }

  async function keepRunning(): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const failure = await runOnce();
      // A person watches the first start; later the service keeps sending events.
      if (isFirst && !isReady && (role === 'webhook' || NEEDS_PERSON.has(failure.exitCode))) throw failure;
      isReady = false;
      await sleep(RESTART_AFTER_MS, undefined, { signal: ending }).catch(() => undefined);
      if (ending.aborted) return;
      restarts.inc({ process: NAMES[role] });
      const detail = [failure.message, failure.subject, failure.hint].filter(Boolean).join('; ');
      log.error({ process: NAMES[role], detail }, 'a process ended and is restarted');
      const title = `The process of the ${NAMES[role]} ended and is restarted`;
      alerts.raise({ key: `process/${role}`, title, detail });
      started.resolve();
    }
  }
  const running = keepRunning().catch(started.reject);

  function send(message: ToChild): void {
    if (child?.connected) child.send(message, () => undefined);
  }

  return {
    started: started.promise,
    addresses: () => addresses,
    state: () => newest?.state ?? null,
    silentMs: () => (newest === null ? 0 : performance.now() - newest.atMs),
    send,
    kill: () => void child?.kill('SIGKILL'),
    async close() {
      closing.abort(new Error('closing'));
      alerts.resolve(`process/${role}`);
      // A process that is still starting has nothing to drain.
      if (isReady) send({ kind: 'stop' });
      else child?.kill('SIGKILL');
      const late = setTimeout(() => child?.kill('SIGKILL'), ENDS_WITHIN_MS);
      await running;
      clearTimeout(late);
    },
  };
}

function spawn(role: ChildRole, settings: Settings): ChildProcess {
  const child = fork(MAIN, argumentsOf(role, settings).slice(1), {
    serialization: 'advanced',
    env: environmentOf(role, settings),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.send({
    kind: 'run',
    settings: settingsOf(role, settings),
    verbose: process.argv.includes('--verbose'),
  } satisfies ToChild);
  return child;
}

function asCliError({ error, stack }: Extract<FromChild, { kind: 'failed' }>): CliError {
  const { exitCode, what, subject, hint } = error;
  const cause = Object.assign(new Error(what), { stack });
  return new CliError(exitCode, what, { subject: subject ?? undefined, hint: hint ?? undefined, cause });
}

/** Variables that the system and libraries read; settings are sent as a message. */
const SYSTEM =
  /^(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|NO_COLOR|FORCE_COLOR|NODE_\w+|SSL_CERT_(FILE|DIR)|XDG_\w+|UV_\w+|MALLOC_\w+|LD_\w+|OTEL_\w+|TEMPORAL_\w+)$/;

/** Any other variable may be a credential, and the endpoint is reached from other machines. */
function environmentOf(
  role: ChildRole,
  { archive, warehouse }: Pick<Settings, 'archive' | 'warehouse'>,
): NodeJS.ProcessEnv {
  const readsLake = role === 'worker' && warehouse.kind === 'ducklake';
  const isRead = (name: string): boolean =>
    SYSTEM.test(name) ||
    (name.startsWith('AWS_') && (archive.kind === 's3' || readsLake)) ||
    (/^PG[A-Z]+$/.test(name) && readsLake);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => isRead(name)));
}

/** The endpoint calls the service only to learn the partner. */
function settingsOf(role: ChildRole, settings: Settings): Settings {
  if (role !== 'webhook') return settings;
  const { service, admin, warehouse, partnerId } = settings;
  return {
    ...settings,
    admin: { ...admin, basicAuth: null, operators: [] },
    warehouse: warehouse.kind === 'ducklake' ? { ...warehouse, catalog: 'postgres:' } : warehouse,
    service: partnerId === null ? service : { ...service, clientId: null, clientSecret: null, apiKey: null },
  };
}
