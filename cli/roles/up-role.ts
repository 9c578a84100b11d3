/** `up` does no work of its own, so that a failure of the worker leaves the endpoint running (ADR 13). */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, realpath } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AlertKey } from '../../lib/alerts/alert-names.ts';
import type { Alert } from '../../lib/alerts/alert-store.ts';
import { SHOWN_FOR_MS } from '../../lib/alerts/alerts.ts';
import { requireService, type Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { type LockFile, takeLock } from '../../lib/files/lock-file.ts';
import { type ComponentHealth, startChecks } from '../../lib/health/health.ts';
import { endProcess, findProcesses } from '../../lib/processes.ts';
import { claimDataFolder } from '../../warehouse/data-folder.ts';
import { CliError, type DescribedError, EXIT, type ExitCode } from '../errors.ts';
import { type RoleContext, type RunningRole, startParts } from './run-role.ts';
import { endpointCheck } from './watch-endpoint.ts';

export type ChildRole = 'webhook' | 'worker' | 'dashboard';

interface ChildState {
  readonly components: Readonly<Record<string, ComponentHealth>>;
  readonly metrics: string;
}

export type ToChild =
  /** Secrets are sent here: other users can read a command line, and every child process has the environment. */
  | { readonly kind: 'run'; readonly settings: Settings; readonly verbose: boolean }
  | { readonly kind: 'stop' }
  | { readonly kind: 'neighbours'; readonly state: ChildState };

export type FromChild =
  | { readonly kind: 'ready'; readonly addresses: Readonly<Record<string, string>> }
  | { readonly kind: 'state'; readonly state: ChildState }
  | { readonly kind: 'alert'; readonly key: AlertKey; readonly alert: Alert | null }
  | { readonly kind: 'failed'; readonly error: DescribedError; readonly stack: string };

const CHILD_MAIN = join(import.meta.dirname, `child-main${extname(import.meta.filename)}`);
const NAMES: Readonly<Record<ChildRole, string>> = {
  webhook: 'endpoint',
  worker: 'worker',
  dashboard: 'dashboard',
};
const LOCK_WITHIN_MS = 2_000;
const FORWARD_EVERY_MS = 1_000;
/** A terminal interrupts all processes at once: within this time `up` receives the signal too, and restarts nothing. */
const RESTART_AFTER_MS = 1_000;
/** An event loop that blocks for this long does not recover. A kill loses nothing that was acknowledged. */
const KILLED_AFTER_MS: Readonly<Record<ChildRole, number>> = {
  webhook: 30_000,
  worker: 120_000,
  dashboard: 60_000,
};
/** Exit codes of errors that a restart does not fix. */
const NEEDS_PERSON: ReadonlySet<ExitCode> = new Set([EXIT.usage, EXIT.refused, EXIT.locked]);

/** @throws CliError (exit 8) another `up` runs for this data folder; the error of a part that cannot start */
export async function startUpRole(given: RoleContext): Promise<RunningRole> {
  const { stopping, health, metrics } = given;
  requireService(given.settings);
  await claimDataFolder(given.settings.dataDir, given.settings.environment);
  // The data folder is named by its real path, because processes are found by it.
  const settings: Settings = { ...given.settings, dataDir: await realpath(given.settings.dataDir) };
  const context: RoleContext = { ...given, settings };
  return startParts(async (parts) => {
    const lock = await takeUpLock(settings);
    parts.defer(() => lock.release());
    // Processes of a killed `up` end by themselves unless they are frozen or blocked.
    for (const pid of findProcesses([CHILD_MAIN, settings.dataDir])) await endProcess(pid, 0);
    const temporal = settings.temporalConfigured ? null : startTemporalRole(context);
    parts.defer(async () => (await temporal?.catch(() => null))?.close());
    const endpoint = startProcess('webhook', context, ({ webhook }) => ({
      ...settings,
      webhook: withPort(settings.webhook, webhook),
    }));
    parts.defer(endpoint.close);
    const worker = startProcess('worker', context, () => settings);
    parts.defer(worker.close);
    // Pages that need much memory or time hurt neither the endpoint nor loading.
    const dashboard = startProcess('dashboard', context, ({ dashboard: address }) => ({
      ...settings,
      admin: withPort(settings.admin, address),
    }));
    parts.defer(dashboard.close);

    /** The dashboard shows the states of all processes on the admin port. */
    async function forwardStates(): Promise<void> {
      const [received, worked] = [endpoint.state(), worker.state()];
      const away = { isHealthy: false, detail: 'Its process is being started.' };
      if (received === null) health.set('endpoint', away);
      health.set('worker', worked === null ? away : { isHealthy: true });
      const components = { ...received?.components, ...worked?.components, ...health.report().components };
      const text = `${await metrics.ownText()}\n${received?.metrics ?? ''}\n${worked?.metrics ?? ''}`;
      dashboard.send({ kind: 'neighbours', state: { components, metrics: text } });
    }
    const checks = startChecks(context);
    parts.defer(() => checks.close());
    checks.add(
      endpointCheck(() => (endpoint.state() && endpoint.addresses().webhook) ?? null, context),
      { component: 'processes', everyMs: FORWARD_EVERY_MS, run: forwardStates },
    );
    stopping.throwIfAborted();
    const stopped = once(stopping, 'abort').then(() => Promise.reject(stopping.reason));
    const started = [endpoint.started, worker.started, dashboard.started, temporal];
    await Promise.race([Promise.all(started), stopped]);
    const addresses = { ...endpoint.addresses(), ...(await temporal)?.addresses, ...dashboard.addresses() };
    return { addresses, close: () => parts.disposeAsync() };
  });
}

export async function startTemporalRole({ settings, log }: RoleContext): Promise<RunningRole> {
  await claimDataFolder(settings.dataDir, settings.environment);
  const { startEmbeddedTemporal } = await import('../../lib/temporal/embedded.ts');
  const address = process.env.TEMPORAL_ADDRESS;
  const server = await startEmbeddedTemporal({
    dataDir: settings.dataDir,
    log,
    ...(address ? { address } : {}),
    onProgress: (line) => log.info(line),
  });
  return { addresses: { temporal: server.address }, close: () => server.stop() };
}

async function takeUpLock({ dataDir }: Settings): Promise<LockFile> {
  const folder = dataFolder(dataDir).run;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return takeLock(join(folder, 'up.lock'), {
    ...{ role: 'up', now: new Date(), patienceMs: LOCK_WITHIN_MS },
    refusal: (_, owner) =>
      new CliError(
        EXIT.locked,
        `another \`billsync up\` runs for this data folder${owner === null ? '' : ` (pid ${owner.pid})`}`,
        { subject: dataDir, hint: 'stop it first, or set another BILLSYNC_DATA_DIR' },
      ),
  });
}

/** Keeps a port that was free at the first start, so that the registration of the endpoint stays right. */
function withPort<T extends { readonly port: number }>(settings: T, address: string | undefined): T {
  return address === undefined
    ? settings
    : { ...settings, port: Number(new URL(address).port) || settings.port };
}

/** @param settings builds the settings from the addresses of the last start */
function startProcess(
  role: ChildRole,
  { log, alerts, metrics, stopping }: RoleContext,
  settings: (addresses: Readonly<Record<string, string>>) => Settings,
) {
  const name = NAMES[role];
  const restarts = metrics.counter('process_restarts_total');
  const started = Promise.withResolvers<void>();
  started.promise.catch(() => undefined);
  const closing = new AbortController();
  const ending = AbortSignal.any([stopping, closing.signal]);
  let child: ChildProcess | null = null;
  let newest: ChildState | null = null;
  let addresses: Readonly<Record<string, string>> = {};
  let isReady = false;

  /** Runs the process until it ends, and returns the reason. */
  async function runOnce(): Promise<CliError> {
    let failure: CliError | null = null;
    let recovery: NodeJS.Timeout | undefined;
    let hanging: NodeJS.Timeout | undefined;
    const forked = spawn(role, settings(addresses));
    child = forked;
    forked.on('message', (message: FromChild) => {
      if (message.kind === 'failed') failure = asCliError(message);
      else if (message.kind === 'state') {
        newest = message.state;
        hanging?.refresh();
      } else if (message.kind === 'alert') {
        if (message.alert === null) alerts.resolve(message.key);
        else alerts.raise(message.alert);
      } else {
        isReady = true;
        addresses = message.addresses;
        started.resolve();
        recovery = setTimeout(() => alerts.resolve(`process/${role}`), SHOWN_FOR_MS).unref();
        hanging = setTimeout(() => {
          log.error({ process: name }, 'a process does not respond and is killed');
          forked.kill('SIGKILL');
        }, KILLED_AFTER_MS[role]).unref();
      }
    });
    // `once` rejects when the process cannot be started, for example without memory.
    const [code, signal] = await once(forked, 'exit').catch((error: unknown) => [String(error), null]);
    clearTimeout(recovery);
    clearTimeout(hanging);
    child = null;
    newest = null;
    const how = signal === null ? `exit code ${code}` : signal;
    const hint = 'its last log lines show the reason';
    return failure ?? new CliError(EXIT.bug, `the process of the ${name} ended (${how})`, { hint });
  }

  async function keepRunning(): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      const failure = await runOnce();
      // At the first start a person is watching, so an error ends `up`; later the service keeps sending events, so the process is
      // restarted.
      if (isFirst && !isReady && (role === 'webhook' || NEEDS_PERSON.has(failure.exitCode))) throw failure;
      isReady = false;
      await sleep(RESTART_AFTER_MS, undefined, { signal: ending }).catch(() => undefined);
      if (ending.aborted) return;
      restarts.inc({ process: name });
      const detail = [failure.message, failure.subject, failure.hint].filter(Boolean).join('; ');
      log.error({ process: name, detail }, 'a process ended and is restarted');
      alerts.raise({
        ...{ key: `process/${role}`, title: `The process of the ${name} ended and is restarted`, detail },
      });
      started.resolve();
    }
  }
  const running = keepRunning().catch(started.reject);

  function send(message: ToChild): void {
    child?.send(message, () => undefined);
  }

  return {
    started: started.promise,
    addresses: () => addresses,
    state: () => newest,
    send,
    async close(): Promise<void> {
      closing.abort(new Error('closing'));
      alerts.resolve(`process/${role}`);
      // A process that is still starting has nothing to drain.
      if (isReady) send({ kind: 'stop' });
      else child?.kill('SIGKILL');
      await running;
    },
  };
}

function spawn(role: ChildRole, settings: Settings): ChildProcess {
  const child = fork(CHILD_MAIN, [role, settings.dataDir], {
    serialization: 'advanced',
    env: environmentOf(role, settings),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const verbose = process.argv.includes('--verbose');
  child.send({ kind: 'run', settings: settingsOf(role, settings), verbose } satisfies ToChild);
  return child;
}

function asCliError({ error, stack }: Extract<FromChild, { kind: 'failed' }>): CliError {
  const { exitCode, what, subject, hint } = error;
  const cause = Object.assign(new Error(what), { stack });
  return new CliError(exitCode, what, { subject: subject ?? undefined, hint: hint ?? undefined, cause });
}

/** Variables that the system and libraries read; settings of billsync are sent as a message instead. */
const SYSTEM =
  /^(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_\w+|TZ|TERM|TMPDIR|NO_COLOR|FORCE_COLOR|NODE_\w+|SSL_CERT_(FILE|DIR)|XDG_\w+|UV_\w+|MALLOC_\w+|LD_\w+|OTEL_\w+|TEMPORAL_\w+)$/;

/**
 * The environment is reduced to the variables of the system: any other may be a credential, and the endpoint is reached from other
 * machines.
 */
function environmentOf(
  role: ChildRole,
  { archive, warehouse }: Pick<Settings, 'archive' | 'warehouse'>,
): NodeJS.ProcessEnv {
  const readsLake = role !== 'webhook' && warehouse.kind === 'ducklake';
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
    isAdminPortOwn: false,
    admin: { ...admin, basicAuth: null, operators: [] },
    warehouse: warehouse.kind === 'ducklake' ? { ...warehouse, catalog: 'postgres:' } : warehouse,
    service: partnerId === null ? service : { ...service, clientId: null, clientSecret: null, apiKey: null },
  };
}
