/**
 * Runs many commands in one process, one after the other, where a person would start a process for each: what they write
 * and their exit codes are the same, and a walk over a hundred of them takes seconds. The program that is played is named
 * first. With a channel to the process that started it, it takes one `Asked` after the other and answers each with `Answered`
 * (`processes/run-command.ts`); else it reads `Play[]` as JSON from stdin and writes `Played[]` to the file that is named
 * second.
 */

import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Play {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** When it is given up as one that does not end; 20 s by default. */
  readonly patienceMs?: number;
  /** All others of the files that the process may have open are taken. */
  readonly openFiles?: number;
}

export interface Played {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface Asked {
  readonly id: number;
  readonly play: Play;
}

export interface Answered {
  readonly id: number;
  readonly played: Played;
}

const PATIENCE_MS = 20_000;

const [program = '', into = ''] = process.argv.slice(2);
const { runVerb } = (await import(
  pathToFileURL(join(dirname(program), '../dist/cli/run-verb.js')).href
)) as typeof import('../../cli/run-verb.ts');
const own = { ...process.env };
const home = process.cwd();
process.umask(0o077);
if (process.send === undefined) await playAll();
else playWhatIsAsked();

async function playAll(): Promise<void> {
  const plays = JSON.parse(readFileSync(0, 'utf8')) as readonly Play[];
  const played: Played[] = [];
  for (const play of plays) played.push(await run(play));
  writeFileSync(into, JSON.stringify(played));
  process.exit(0);
}

function playWhatIsAsked(): void {
  let last: Promise<unknown> = Promise.resolve();
  process.on('message', ({ id, play }: Asked) => {
    last = last.then(async () => process.send?.({ id, played: await run(play) } satisfies Answered));
  });
  process.on('disconnect', () => process.exit(0));
}

async function run({ args, env, cwd = home, openFiles, patienceMs = PATIENCE_MS }: Play): Promise<Played> {
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
  const begun = performance.now();
  const late = new Promise<number>((resolve) => setTimeout(resolve, patienceMs, -1).unref());
  try {
    const exitCode = await Promise.race([runVerb(args), late]);
    return { exitCode, ...texts, ms: Math.round(performance.now() - begun) };
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
