/**
 * Runs `billsync`, as it is published, in one process for all commands of a test process: for tests that ask what a command
 * says and does. Where the process itself is what is tested (its signals, streams, start), `billsync.ts` starts one.
 */

import { type ChildProcess, fork } from 'node:child_process';
import type { Answered, Asked, Played } from '../play-commands.ts';
import { BILLSYNC, cleanEnvironment, type Finished, type RunOptions } from './billsync.ts';
import { testProgram } from './test-program.ts';

const PLAYER = testProgram('support/play-commands.ts');
/** Less than a test may take. */
const PATIENCE_MS = 110_000;

const waiting = new Map<number, { resolve: (played: Played) => void; reject: (error: Error) => void }>();
let player: ChildProcess | undefined;
let lastId = 0;

/** One after the other, also when several are asked at once. @throws Error the process ended instead of answering */
export async function runCommand(
  args: readonly string[],
  { env = {}, cwd = process.cwd() }: Pick<RunOptions, 'env' | 'cwd'> = {},
): Promise<Finished> {
  player ??= startPlayer();
  const id = ++lastId;
  const play = { args, env: cleanEnvironment(env), cwd, patienceMs: PATIENCE_MS };
  const answered = new Promise<Played>((resolve, reject) => waiting.set(id, { resolve, reject }));
  player.send({ id, play } satisfies Asked);
  const { exitCode, stdout, stderr } = await answered;
  return { exitCode, stdout, stderr };
}

/** It ends when the process that started it does. */
function startPlayer(): ChildProcess {
  const child = fork(PLAYER, [BILLSYNC], {
    execArgv: [],
    env: cleanEnvironment(),
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.unref();
  child.channel?.unref();
  child.on('message', ({ id, played }: Answered) => {
    waiting.get(id)?.resolve(played);
    waiting.delete(id);
  });
  child.once('exit', (code, signal) => {
    player = undefined;
    for (const { reject } of waiting.values()) {
      reject(new Error(`The process that runs commands ended with ${code ?? signal}.`));
    }
    waiting.clear();
  });
  return child;
}
