/**
 * `npm run fuzz -- TARGET [--cases N] [--seconds S] [--seed X]`: runs at least N cases and at least S seconds, prints
 * cases, crashes and hangs, and fails when there was one. `--case N` runs that case alone, in this thread.
 */

import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { type Crash, type FuzzTarget, fuzzTargets, playCase } from './fuzz-targets.ts';
import type { FuzzThreadData } from './fuzz-thread.ts';

/** A case takes milliseconds, some run a hundred at once, and a busy machine may delay a thread for seconds. */
const HANG_MS = 60_000;
const MAX_PRINTED = 10;
const THREAD = new URL('./fuzz-thread.ts', import.meta.url);

interface FuzzOptions {
  readonly target: string;
  readonly seed: number;
  readonly cases: number;
  readonly seconds: number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cases: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    case: { type: 'string' },
  },
});
const targets = await fuzzTargets();
const names = positionals[0] === 'all' ? [...targets.keys()] : positionals;
const [seed, cases, seconds] = [Number(values.seed), Number(values.cases), Number(values.seconds)];
if (
  names.length === 0 ||
  names.some((name) => !targets.has(name)) ||
  ![seed, cases, seconds].every(Number.isFinite)
) {
  process.stderr.write(
    `Name one of these, or all; --cases, --seconds and --seed take a number:\n${listOf(targets)}\n`,
  );
  process.exitCode = 2;
} else {
  for (const target of names) {
    if (values.case !== undefined) await runAlone(target, Number(values.case));
    else if ((await fuzz({ target, seed, cases, seconds })) > 0) process.exitCode = 1;
  }
}

async function runAlone(name: string, nth: number): Promise<void> {
  const run = await targets.get(name)?.open();
  const crash = run === undefined ? null : await playCase(run, seed, nth);
  await run?.close?.();
  process.stdout.write(
    crash === null ? `${name}: case ${nth} passed\n` : `${name}: case ${nth}: ${crash.error}\n`,
  );
  if (crash !== null) process.exitCode = 1;
}

async function fuzz({ target, seed, cases, seconds }: FuzzOptions): Promise<number> {
  const startedMs = Date.now();
  const untilMs = startedMs + seconds * 1_000;
  const crashes: Crash[] = [];
  const hangs: number[] = [];
  const progress = new Int32Array(new SharedArrayBuffer(4)).fill(-1);
  let first = 0;
  do {
    const data: FuzzThreadData = { target, seed, first, cases, untilMs, progress };
    const end = await runInThread(data, (crash) => crashes.push(crash));
    const nth = Atomics.load(progress, 0);
    if (end === 'hung') hangs.push(nth);
    // A thread that fails before its first case would fail again forever.
    if (end instanceof Error && nth < first) throw end;
    if (end instanceof Error) crashes.push({ nth, error: `The thread ended: ${end.stack ?? end.message}` });
    first = end === 'done' ? nth : nth + 1;
  } while (first < cases || Date.now() < untilMs);
  for (const { nth, error } of crashes.slice(0, MAX_PRINTED))
    process.stdout.write(`  case ${nth}: ${error}\n`);
  if (hangs.length > 0) process.stdout.write(`  hung: ${hangs.slice(0, MAX_PRINTED).join(', ')}\n`);
  const took = Math.round((Date.now() - startedMs) / 1_000);
  process.stdout.write(
    `${target}: ${first} cases, ${crashes.length} crashes, ${hangs.length} hangs; seed ${seed}, ${took} s\n`,
  );
  return crashes.length + hangs.length;
}

function runInThread(
  data: FuzzThreadData,
  onCrash: (crash: Crash) => void,
): Promise<'done' | 'hung' | Error> {
  return new Promise((resolve) => {
    const worker = new Worker(THREAD, { workerData: data });
    let seen = -1;
    let sinceMs = Date.now();
    const timer = setInterval(() => {
      const nth = Atomics.load(data.progress, 0);
      if (nth !== seen) [seen, sinceMs] = [nth, Date.now()];
      else if (Date.now() - sinceMs > HANG_MS) end('hung');
    }, 250);
    const end = (how: 'done' | 'hung' | Error): void => {
      clearInterval(timer);
      worker.removeAllListeners();
      void worker.terminate().then(() => resolve(how));
    };
    worker.on('message', onCrash);
    worker.on('error', (error) => end(error instanceof Error ? error : new Error(String(error))));
    worker.on('exit', (code) => end(code === 0 ? 'done' : new Error(`It ended with code ${code}.`)));
  });
}

function listOf(all: ReadonlyMap<string, FuzzTarget>): string {
  return [...all].map(([name, { summary }]) => `  ${name.padEnd(12)} ${summary}`).join('\n');
}
