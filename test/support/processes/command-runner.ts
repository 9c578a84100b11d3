/**
 * Runs many commands in one process, one after the other, which saves the start of a process for each. The first argument is the
 * program. With a channel to the parent process it answers each `CommandRequest` with a `CommandResponse` (`run-command.ts`);
 * otherwise it reads `CommandRun[]` as JSON from stdin and writes `CommandResult[]` to the file of the second argument.
 */

import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface CommandRun {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Default: 20 s. */
  readonly timeoutMs?: number;
  /** Number of files that the command can open; the other file descriptors are taken. */
  readonly openFiles?: number;
}

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandRequest {
  readonly id: number;
  readonly run: CommandRun;
}

export interface CommandResponse {
  readonly id: number;
  readonly result: CommandResult;
}

const TIMEOUT_MS = 20_000;

const [program = '', into = ''] = process.argv.slice(2);
const { runVerb } = (await import(
  pathToFileURL(join(dirname(program), '../dist/cli/run-verb.js')).href
)) as typeof import('../../../cli/run-verb.ts');
const own = { ...process.env };
const home = process.cwd();
process.umask(0o077);
if (process.send === undefined) await runAll();
else runRequests();

async function runAll(): Promise<void> {
  const runs = JSON.parse(readFileSync(0, 'utf8')) as readonly CommandRun[];
  const results: CommandResult[] = [];
  for (const run of runs) results.push(await runCommand(run));
  writeFileSync(into, JSON.stringify(results));
  process.exit(0);
}

function runRequests(): void {
  let last: Promise<unknown> = Promise.resolve();
  process.on('message', ({ id, run }: CommandRequest) => {
    last = last.then(async () =>
      process.send?.({ id, result: await runCommand(run) } satisfies CommandResponse),
    );
  });
  process.on('disconnect', () => process.exit(0));
}

async function runCommand({
  args,
  env,
  cwd = home,
  openFiles,
  timeoutMs = TIMEOUT_MS,
}: CommandRun): Promise<CommandResult> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in own)) delete process.env[name];
  Object.assign(process.env, own, env);
  process.exitCode = undefined;
  const texts = { stdout: '', stderr: '' };
  const writers = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = ((text: unknown, ...rest: unknown[]) => {
      texts[name] += String(text);
      const done = rest.at(-1);
      if (typeof done === 'function') done();
      return true;
    }) as typeof process.stdout.write;
  }
  const taken = openFiles === undefined ? [] : takeAllBut(openFiles);
  const late = new Promise<number>((resolve) => setTimeout(resolve, timeoutMs, -1).unref());
  try {
    const exitCode = await Promise.race([runVerb(args), late]);
    return { exitCode, ...texts };
  } finally {
    process.chdir(home);
    for (const file of taken) closeSync(file);
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeAllListeners(signal);
    Object.assign(process.stdout, { write: writers.stdout });
    Object.assign(process.stderr, { write: writers.stderr });
  }
}

function takeAllBut(free: number): readonly number[] {
  const taken: number[] = [];
  for (;;) {
    try {
      taken.push(openSync('/dev/null', 'r'));
    } catch {
      for (const file of taken.splice(0, free)) closeSync(file);
      return taken;
    }
  }
}
