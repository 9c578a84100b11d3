/**
 * Runs many commands in one process, one after the other, where a person would start a process for each: what they write
 * and their exit codes are the same, and a walk over a hundred of them takes seconds. Reads `Play[]` as JSON from stdin,
 * writes `Played[]` to the file that is named second; first comes the
 * program that is played.
 */

import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Play {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** All others of the files that the process may have open are taken. */
  readonly openFiles?: number;
}

export interface Played {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

const PATIENCE_MS = 20_000;

const [program = '', into = ''] = process.argv.slice(2);
const { runVerb } = (await import(
  pathToFileURL(join(dirname(program), '../dist/cli/run-verb.js')).href
)) as typeof import('../../cli/run-verb.js');
const plays = JSON.parse(readFileSync(0, 'utf8')) as readonly Play[];
const own = { ...process.env };
const played: Played[] = [];
process.umask(0o077);
for (const play of plays) played.push(await run(play));
writeFileSync(into, JSON.stringify(played));
process.exit(0);

async function run({ args, env, openFiles }: Play): Promise<Played> {
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
  const late = new Promise<number>((resolve) => setTimeout(resolve, PATIENCE_MS, -1).unref());
  try {
    const exitCode = await Promise.race([runVerb(args), late]);
    return { exitCode, ...texts, ms: Math.round(performance.now() - begun) };
  } finally {
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
