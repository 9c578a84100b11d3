/**
 * The product as its users run it: `temporal`, `webhook`, `worker` or `up` as real processes on one data folder, on
 * ports that stay the same, so that they can be killed -9 and started again at once.
 */

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findProcesses } from '../../../lib/processes.ts';
import { serverIdentity } from '../../../lib/temporal/server-process.ts';
import { type ForeignService, type ServiceAddress, serviceSettings } from '../foreign-service.ts';
import { limitUnderLoad } from '../limit-under-load.ts';
import { BILLSYNC, cleanEnvironment } from './billsync.ts';
import { freePort } from './free-port.ts';
import { testProgram } from './test-program.ts';

export type Role = 'temporal' | 'webhook' | 'worker' | 'dashboard' | 'up';

export interface ProductOptions {
  readonly service: ServiceAddress & Pick<ForeignService, 'storageHost'>;
  /** Replace those of `settingsFor`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The worker is `killable-worker.ts` and is killed at the durable point that is written into `armFile`. */
  readonly isMortal?: boolean;
}

export type Product = Awaited<ReturnType<typeof createProduct>>;

const KILLABLE_WORKER = testProgram('support/processes/killable-worker.ts');
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Enough for a machine that runs other tests. */
const READY_WITHIN_MS = 90_000;

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly logFrom: number;
}

/** @param options.settings BILLSYNC_DATA_DIR puts the data folder elsewhere */
export async function createProduct({ service, settings = {}, isMortal = false }: ProductOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'product-'));
  const dataDir = settings.BILLSYNC_DATA_DIR ?? join(folder, 'data');
  const logFolder = join(folder, 'logs');
  await mkdir(logFolder, { recursive: true });
  const armFile = join(folder, 'die-at');
  const [user, password] = ['hook', 'pass:word+/=ü'];
  const webhookPort = await freePort();
  const env = {
    ...cleanEnvironment(settingsFor(service)),
    DIE_AT_FILE: armFile,
    BILLSYNC_DATA_DIR: dataDir,
    BILLSYNC_WEBHOOK_PORT: String(webhookPort),
    BILLSYNC_WEBHOOK_BASIC_AUTH: `${user}:${password}`,
    BILLSYNC_ADMIN_PORT: String(await freePort()),
    ...settings,
  };
  /** Command line words by which its server's processes are found. */
  const temporalServer = serverIdentity({ dataDir });
  const roles = new Map<Role, Running>();
  const logPath = (role: Role): string => join(logFolder, `${role}.log`);
  const log = (role: Role): string => (existsSync(logPath(role)) ? readFileSync(logPath(role), 'utf8') : '');

  function isRunning(role: Role): boolean {
    const child = roles.get(role)?.child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  function lastRun(role: Role): string {
    return Buffer.from(log(role))
      .subarray(roles.get(role)?.logFrom ?? 0)
      .toString();
  }

  /** Resolves when the role is ready. @throws Error with its output when it ended before */
  async function start(role: Role): Promise<void> {
    if (isRunning(role)) throw new Error(`${role} runs already.`);
    const logFrom = existsSync(logPath(role)) ? statSync(logPath(role)).size : 0;
    const output = openSync(logPath(role), 'a');
    // `bin/billsync` becomes Node itself, so the pid is the product's either way.
    const [program, ...args] =
      isMortal && role === 'worker' ? [process.execPath, KILLABLE_WORKER] : [BILLSYNC];
    const child = spawn(program ?? '', [...args, role], {
      stdio: ['ignore', output, output],
      cwd: ROOT,
      // The worker has the port of the settings; two processes cannot listen there.
      env: role === 'webhook' ? { ...env, BILLSYNC_ADMIN_PORT: '0' } : env,
    });
    closeSync(output);
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    roles.set(role, { child, ended, logFrom });
    const isOver = limitUnderLoad(READY_WITHIN_MS);
    while (readyLine(lastRun(role)) === null) {
      if (!isRunning(role)) throw new Error(`${role} ended at once:\n${lastRun(role).slice(-2_000)}`);
      if (isOver()) throw new Error(`${role} is not ready:\n${lastRun(role).slice(-2_000)}`);
      await sleep(20);
    }
  }

  /** kill -9; resolves when the process has ended. Does nothing for a role that does not run. */
  async function kill(role: Role): Promise<void> {
    const running = roles.get(role);
    if (running === undefined) return;
    running.child.kill('SIGKILL');
    await running.ended;
  }

  function spawned(...args: readonly string[]): ChildProcessByStdio<null, Readable, Readable> {
    return spawn(BILLSYNC, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: ROOT, env });
  }

  /** Pid of the embedded Temporal server that the data folder names. */
  function temporalPid(): number | null {
    try {
      return (JSON.parse(readFileSync(join(dataDir, 'run', 'temporal.json'), 'utf8')) as { pid: number }).pid;
    } catch {
      return null;
    }
  }

  return {
    ...{ dataDir, logFolder, armFile, user, password, temporalServer },
    ...{ start, kill, isRunning, temporalPid, log },
    webhookUrl: `https://127.0.0.1:${webhookPort}/webhooks/billing`,
    signal(role: Role, signal: NodeJS.Signals) {
      roles.get(role)?.child.kill(signal);
    },
    /** SIGTERM; the exit code, and how long it took. */
    async stop(role: Role) {
      const running = roles.get(role);
      const beganMs = performance.now();
      running?.child.kill('SIGTERM');
      await running?.ended;
      return { code: running?.child.exitCode ?? null, seconds: (performance.now() - beganMs) / 1_000 };
    },
    /** Resolves once the role has ended; null: by a signal. */
    async ended(role: Role) {
      const running = roles.get(role);
      await running?.ended;
      return running?.child.exitCode ?? null;
    },
    /** From the `ready` line of the role's last start. */
    address: (role: Role, name: string) => readyLine(lastRun(role))?.get(name) ?? null,
    pid: (role: Role) => roles.get(role)?.child.pid,
    spawn: spawned,
    command(...args: readonly string[]) {
      const child = spawned(...args);
      const [out, err]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
      return new Promise<{ readonly code: number; readonly out: string; readonly err: string }>((resolve) => {
        child.once('close', (code) =>
          resolve({
            code: code ?? -1,
            out: Buffer.concat(out).toString(),
            err: Buffer.concat(err).toString(),
          }),
        );
      });
    },
    /** Kills every role and removes the folder unless `keep`. */
    async close({ keep = false } = {}) {
      for (const role of ['up', 'worker', 'webhook', 'dashboard', 'temporal'] as const) await kill(role);
      for (const pid of findProcesses(temporalServer)) process.kill(pid, 'SIGKILL');
      if (!keep) await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

export function settingsFor(service: ProductOptions['service']): Record<string, string> {
  return {
    BILLSYNC_ENVIRONMENT: 'test',
    ...serviceSettings(service),
    BILLSYNC_DOWNLOAD_HOSTS: service.storageHost,
    BILLSYNC_WEBHOOK_HOST: '127.0.0.1',
    BILLSYNC_OVERDUE_AFTER: '3s',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'debug',
  };
}

function readyLine(text: string): ReadonlyMap<string, string> | null {
  const line = /^ready( .*)?$/m.exec(text);
  if (line === null) return null;
  const pairs = (line[1] ?? '').trim().split(' ');
  return new Map(pairs.map((pair) => [pair.replace(/=.*$/s, ''), pair.replace(/^[^=]*=/, '')]));
}
