/** Runs `billsync`, as it is published, as a person would: a real process, its streams and its exit code. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { builtProgram, sharedCache } from '../../../scripts/built-program.ts';

export const BILLSYNC = await builtProgram();

/** Less than a hook may take, so that the failure shows what the process wrote. */
const READY_WITHIN_MS = 110_000;

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
  readonly program?: string;
}

/**
 * Settings of the machine that runs the tests must not reach the process under test, nor its authorities (each Node that starts
 * with NODE_EXTRA_CA_CERTS reads all of them first: 35 ms of 45).
 */
export function cleanEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(
    ([name, value]) =>
      value !== undefined &&
      !/^(BILLSYNC_|TEMPORAL_|SANDBOX_|LOG_|OTEL_|NO_COLOR|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|VITEST)/.test(
        name,
      ),
  ) as [string, string][];
  return { ...Object.fromEntries(own), XDG_CACHE_HOME: sharedCache, ...more };
}

export async function billsync(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const child = spawn(options.program ?? BILLSYNC, args, {
    env: cleanEnvironment(options.env),
    cwd: options.cwd,
    stdio: 'pipe',
  });
  child.stdin.end(options.input ?? '');
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, stdout, stderr };
}

export interface RunningRole {
  readonly child: ChildProcess;
  /** From its `ready` line, by name. */
  readonly addresses: Readonly<Record<string, string>>;
  /** All it wrote to stderr so far. */
  readonly stderr: () => string;
  /** Sends the signal and waits for the end. @returns the exit code, null after a kill */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>;
  /** As `end`, to all its processes at once, as a terminal does; only one that was started with `ownGroup`. */
  endGroup(signal: 'SIGTERM' | 'SIGINT'): Promise<number | null>;
}

export async function startRole(
  args: readonly string[],
  options: RunOptions & { readonly ownGroup?: boolean } = {},
): Promise<RunningRole> {
  const child = spawn(options.program ?? BILLSYNC, args, {
    env: cleanEnvironment(options.env),
    cwd: options.cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: options.ownGroup === true,
  });
  let stderr = '';
  const ready = new Promise<string>((resolve, reject) => {
    const limit = setTimeout(
      () => reject(new Error(`${args.join(' ')} was not ready in time:\n${stderr}`)),
      READY_WITHIN_MS,
    );
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
      const line = /^ready(.*)$/m.exec(stderr);
      if (line === null || !stderr.includes('\n', line.index)) return;
      clearTimeout(limit);
      resolve(line[1] ?? '');
    });
    child.once('exit', (code) => {
      clearTimeout(limit);
      reject(new Error(`${args.join(' ')} ended with ${code}:\n${stderr}`));
    });
  });
  const line = await ready.catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  const pairs = line
    .trim()
    .split(/\s+/)
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  return {
    child,
    addresses: Object.fromEntries(pairs) as Record<string, string>,
    stderr: () => stderr,
    end: (signal) => ended(() => child.kill(signal)),
    endGroup: (signal) => ended(() => process.kill(-(child.pid ?? 0), signal)),
  };

  async function ended(kill: () => unknown): Promise<number | null> {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const exited = once(child, 'exit') as Promise<[number | null]>;
    kill();
    return (await exited)[0];
  }
}
