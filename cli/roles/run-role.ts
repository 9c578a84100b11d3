import { join } from 'node:path';
import type { Command } from 'commander';
import { type Alerts, createAlerts } from '../../lib/alerts/alerts.ts';
import { type Settings, suspiciousSecrets } from '../../lib/config/settings.ts';
import { makeFolders } from '../../lib/files/durable-files.ts';
import { keepPrivate } from '../../lib/files/private-folder.ts';
import { createHealth, type Health } from '../../lib/health/health.ts';
import { isCallRunning } from '../../lib/health/native-calls.ts';
import { createLogger, type Logger } from '../../lib/log/log.ts';
import { createScrub } from '../../lib/log/scrub.ts';
import { createMetrics, type Metrics } from '../../lib/metrics.ts';
import { version } from '../../lib/runtime.ts';
import { serviceManager } from '../../lib/service-manager.ts';
import { startTracing } from '../../lib/temporal/tracing.ts';
import { EXIT, printError } from '../errors.ts';
import { takeOverSignals } from '../terminal/interaction.ts';
import { checkEnvironment, contextOf, useSharedFiles } from '../verb.ts';
import { writeRunFile } from './run-file.ts';

export interface RoleContext {
  readonly role: string;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly alerts: Alerts;
  /** Ends the process after an error that only a restart fixes. Nothing that was acknowledged is lost. */
  readonly fatal: (error: unknown) => void;
  readonly stopping: AbortSignal;
}

export interface RunningRole {
  readonly addresses: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** At most a minute from SIGTERM to exit (docs/faults.md, Stopping); unfinished work is on disk. */
const DRAIN_WITHIN_MS = 50_000;

export async function runRole(
  command: Command,
  role: string,
  start: (context: RoleContext) => Promise<RunningRole>,
  overrides: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { settings, verbose } = contextOf(command, overrides);
  await checkEnvironment(settings);
  await keepPrivate(settings.dataDir);
  // The folder is for files that people write: cost rules, claim windows, tables for reports.
  await makeFolders(join(settings.dataDir, 'user'));
  takeOverSignals();
  const stopping = new AbortController();
  await serveRole({
    ...{ settings, role, verbose, start, stopping },
    onReady({ addresses }, { log }) {
      const note = writeRunFile(settings, role, addresses);
      const list = Object.entries(addresses).map(([name, address]) => `${name}=${address}`);
      process.stderr.write(`${['ready', ...list].join(' ')}\n`);
      const manager = serviceManager(process.env, log);
      manager.ready(list.join(' '));
      stopping.signal.addEventListener('abort', () => manager.stopping(), { once: true });
      return note.remove;
    },
  });
}

export interface ServeOptions {
  readonly settings: Settings;
  readonly role: string;
  readonly verbose: boolean;
  readonly start: (context: RoleContext) => Promise<RunningRole>;
  readonly stopping: AbortController;
  readonly onReady: (running: RunningRole, context: RoleContext) => () => void;
  /** Alerts that another process keeps; by default the role keeps its own. */
  readonly alerts?: Alerts;
}

export async function serveRole(options: ServeOptions): Promise<void> {
  const { settings, role, verbose, stopping } = options;
  const log = createLogger(settings, role);
  const stopped = untilStopped(stopping, log);
  const fatal = (error: unknown): void => {
    log.fatal({ err: error }, 'a fatal error ends the process');
    process.exit(printError(error, { verbose }));
  };
  for (const { setting, what } of suspiciousSecrets(settings)) {
    log.warn({ setting }, `a secret ${what}; if that is a mistake, the service refuses it`);
  }
  const tracing = await startTracing({ settings, role, log, scrub: createScrub(settings) });
  const context = createRoleContext(
    { settings, role, log, fatal, stopping: stopping.signal },
    options.alerts,
  );
  let running: RunningRole;
  try {
    running = await options.start(context);
  } catch (error) {
    if (!stopping.signal.aborted) throw error;
    endSoon();
    return;
  }
  const atTheEnd = options.onReady(running, context);
  await stopped;
  await drained(running, context, async () => tracing?.close());
  atTheEnd();
}

export function createRoleContext(
  base: Pick<RoleContext, 'settings' | 'role' | 'log' | 'fatal' | 'stopping'>,
  keptElsewhere?: Alerts,
): RoleContext {
  const { settings, role, log } = base;
  // A process of `up` receives its settings from it.
  useSharedFiles(settings);
  const metrics = createMetrics(role);
  metrics.gauge('build_info').set({ version: version() }, 1);
  const store = { dataDir: settings.dataDir, role };
  const alerts =
    keptElsewhere ?? createAlerts({ settings, log, metrics, store, scrub: createScrub(settings) });
  return { ...base, metrics, health: createHealth(), alerts };
}

/** Waits for a limited time only, because libraries may keep handles open. */
async function drained(
  running: RunningRole,
  { log, alerts }: RoleContext,
  last: () => Promise<void>,
): Promise<void> {
  const deadline = setTimeout(() => {
    log.warn('not everything ended in time; the rest continues at the next start');
    // `process.exit` waits for threads, and a thread inside DuckDB's code may not return, so the process kills itself.
    if (isCallRunning()) process.kill(process.pid, 'SIGKILL');
    process.exit(EXIT.done);
  }, DRAIN_WITHIN_MS);
  await running.close().catch((error: unknown) => log.error({ err: error }, 'a part did not close'));
  await alerts.close();
  await last();
  clearTimeout(deadline);
  log.info('stopped');
  endSoon();
}

function endSoon(): void {
  setTimeout(() => process.exit(EXIT.done), 2_000).unref();
}

function untilStopped(stopping: AbortController, log: Logger): Promise<void> {
  let isSignalled = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isSignalled) process.exit(EXIT.done);
      isSignalled = true;
      log.info({ signal }, 'stopping');
      stopping.abort(new Error('stopping'));
    });
  }
  return new Promise((resolve) => {
    if (stopping.signal.aborted) resolve();
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

export function basicAuth(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** When one part cannot start, those that did are closed, the newest first. */
export async function startParts<T>(start: (parts: AsyncDisposableStack) => Promise<T>): Promise<T> {
  const parts = new AsyncDisposableStack();
  try {
    return await start(parts);
  } catch (error) {
    // The error of the part that could not start is thrown; errors of closing the other parts are not.
    await parts.disposeAsync().catch(() => undefined);
    throw error;
  }
}
