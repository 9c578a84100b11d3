/**
 * Runs commands of the built `billsync` in one process for all commands of a test process. Tests of the process itself (signals,
 * streams, start) use `billsync.ts`.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { BILLSYNC, cleanEnvironment, type Finished, type RunOptions } from './billsync.ts';
import type { CommandRequest, CommandResponse, CommandResult } from './command-runner.ts';
import { testProgram } from './test-program.ts';

const RUNNER = testProgram('support/processes/command-runner.ts');
/** Less than a test may take. */
const TIMEOUT_MS = 110_000;

const waiting = new Map<
  number,
  { resolve: (result: CommandResult) => void; reject: (error: Error) => void }
>();
let runner: ChildProcess | undefined;
let lastId = 0;

/** Commands run one after the other. @throws Error when the process ended without a result */
export async function runCommand(
  args: readonly string[],
  { env = {}, cwd = process.cwd() }: Pick<RunOptions, 'env' | 'cwd'> = {},
): Promise<Finished> {
  runner ??= startRunner();
  const id = ++lastId;
  const run = { args, env: cleanEnvironment(env), cwd, timeoutMs: TIMEOUT_MS };
  const answered = new Promise<CommandResult>((resolve, reject) => waiting.set(id, { resolve, reject }));
  runner.send({ id, run } satisfies CommandRequest);
  const { exitCode, stdout, stderr } = await answered;
  return { exitCode, stdout, stderr };
}

/** It ends when the process that started it does. */
function startRunner(): ChildProcess {
  const child = fork(RUNNER, [BILLSYNC], {
    execArgv: [],
    env: cleanEnvironment(),
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.unref();
  child.channel?.unref();
  child.on('message', ({ id, result }: CommandResponse) => {
    waiting.get(id)?.resolve(result);
    waiting.delete(id);
  });
  child.once('exit', (code, signal) => {
    runner = undefined;
    for (const { reject } of waiting.values()) {
      reject(new Error(`The process that runs commands ended with ${code ?? signal}.`));
    }
    waiting.clear();
  });
  return child;
}
