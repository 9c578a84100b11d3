/** Runs a role until somebody stops it: says when it is ready, drains on SIGTERM, leaves its pid in the data folder. */

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Settings } from '../../config/settings.js';
import { type Alerts, createAlerts } from '../../ops/alerts.js';
import { createHealth, type Health } from '../../ops/health.js';
import { createLogger, type Logger } from '../../ops/log.js';
import { createMetrics, type Metrics } from '../../ops/metrics.js';
import { createScrub } from '../../ops/scrub.js';
import { startTracing } from '../../temporal/tracing.js';
import { checkEnvironment } from '../environment-check.js';
import { EXIT, printError } from '../errors.js';
import { contextOf } from '../verb.js';
import { takeOverSignals } from './early-signal.js';

export interface RoleContext {
  /** Names the process in its log, its metrics and the warehouse's lock. */
  readonly role: string;
  readonly settings: Settings;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly health: Health;
  readonly alerts: Alerts;
  /** Ends the process: something is wrong that only a clean start can mend. Nothing acknowledged is lost by it. */
  readonly fatal: (error: unknown) => void;
  /** Aborts when the role is asked to stop, also while it is still starting. */
  readonly stopping: AbortSignal;
}

export interface RunningRole {
  /** By name, for the `ready` line and for `run/<role>.json`. */
  readonly addresses: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** SIGTERM to exit takes at most a minute (interface); what is not done by then is safe on disk. */
const DRAIN_WITHIN_MS = 50_000;

export async function runRole(
  command: Command,
  role: string,
  start: (context: RoleContext) => Promise<RunningRole>,
  overrides: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { settings, verbose } = contextOf(command, overrides);
  await checkEnvironment(settings);
  const log = createLogger(settings, role);
  const stopping = new AbortController();
  const stopped = untilSignal(stopping, log);
  const fatal = (error: unknown): void => {
    log.fatal({ err: error }, 'cannot go on');
    process.exit(printError(error, { verbose }));
  };
  const tracing = await startTracing({ settings, role, log, scrub: createScrub(settings) });
  const context = createRoleContext({ settings, role, log, fatal, stopping: stopping.signal });
  let running: RunningRole;
  try {
    running = await start(context);
  } catch (error) {
    // Asked to stop while starting: whatever gave up because of that is no failure.
    if (!stopping.signal.aborted) throw error;
    endSoon();
    return;
  }
  const note = writeRunFile(settings, role, running.addresses);
  const addresses = Object.entries(running.addresses).map(([name, address]) => `${name}=${address}`);
  process.stderr.write(`${['ready', ...addresses].join(' ')}\n`);
  await stopped;
  await drained(running, context, async () => tracing?.close());
  note.remove();
}

/** What every role is given. */
export function createRoleContext(
  base: Pick<RoleContext, 'settings' | 'role' | 'log' | 'fatal' | 'stopping'>,
): RoleContext {
  const { settings, role, log } = base;
  const metrics = createMetrics(role);
  const memory = join(settings.dataDir, 'run', `alerts-${role}.json`);
  const alerts = createAlerts({ settings, log, metrics, memory, scrub: createScrub(settings) });
  return { ...base, metrics, health: createHealth(), alerts };
}

/** Also ends the process when libraries still hold handles: everything of ours is closed by then. */
async function drained(
  running: RunningRole,
  { log, alerts }: RoleContext,
  last: () => Promise<void>,
): Promise<void> {
  const deadline = setTimeout(() => {
    log.warn('not everything ended in time; what is left is taken up at the next start');
    process.exit(EXIT.done);
  }, DRAIN_WITHIN_MS);
  await running.close();
  await alerts.close();
  await last();
  clearTimeout(deadline);
  log.info('stopped');
  endSoon();
}

function endSoon(): void {
  setTimeout(() => process.exit(EXIT.done), 2_000).unref();
}

/** The first signal asks to drain, the second does not wait. */
function untilSignal(stopping: AbortController, log: Logger): Promise<void> {
  takeOverSignals();
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        if (stopping.signal.aborted) process.exit(EXIT.done);
        log.info({ signal }, 'stopping');
        stopping.abort(new Error('stopping'));
        resolve();
      });
    }
  });
}

interface RunFile {
  readonly pid: number;
  readonly role: string;
  readonly since: string;
  readonly addresses: Readonly<Record<string, string>>;
}

/** Lets other commands on this machine find the role. */
function writeRunFile(settings: Settings, role: string, addresses: RunFile['addresses']): { remove(): void } {
  const path = runFilePath(settings, role);
  mkdirSync(join(settings.dataDir, 'run'), { recursive: true, mode: 0o700 });
  const file: RunFile = { pid: process.pid, role, since: new Date().toISOString(), addresses };
  const draft = `${path}.${process.pid}.tmp`;
  writeFileSync(draft, `${JSON.stringify(file)}\n`, { mode: 0o600 });
  renameSync(draft, path);
  return {
    remove() {
      if (readRunFile(settings, role)?.pid === process.pid) rmSync(path, { force: true });
    },
  };
}

/** What a role left in the data folder; it may be gone since. */
export function readRunFile(settings: Pick<Settings, 'dataDir'>, role: string): RunFile | null {
  try {
    return JSON.parse(readFileSync(runFilePath(settings, role), 'utf8')) as RunFile;
  } catch {
    return null;
  }
}

function runFilePath({ dataDir }: Pick<Settings, 'dataDir'>, role: string): string {
  return join(dataDir, 'run', `${role}.json`);
}
