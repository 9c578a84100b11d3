/**
 * What somebody waits for at a terminal: the start of the published program, in processor time, which hardly changes with what
 * else the machine does, beside Node that does nothing.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtProgram } from '../scripts/built-program.ts';
import { cpuSeconds } from './support/cpu-seconds.ts';
import { makeCsv } from './support/make-csv.ts';
import { draw } from './support/plot.ts';
import { median } from './support/ratios.ts';
import { missedOf } from './support/rounds.ts';
import { runMeasured } from './support/run-measured.ts';

export const summary = 'start of --help, the catalogue and a report of the published program [rounds]';

/** Promised, in seconds of user and system time. */
const MOST = { '--help': 0.15, report: 0.5 } as const;

/** @throws Error a promise was missed */
export async function main([rounds = '7']: readonly string[]): Promise<void> {
  const program = await builtProgram();
  const folder = await mkdtemp(join(tmpdir(), 'billsync-start-'));
  try {
    const csv = join(folder, 'invoice.csv');
    const env = { BILLSYNC_DATA_DIR: join(folder, 'data') };
    await makeCsv(csv, 1_000);
    await runMeasured([program, 'import', csv], env);
    const sides = [['node', [process.execPath, '-e', '0']] as const, ...sidesOf(program)];
    const samples = new Map<string, number[]>(sides.map(([name]) => [name, []]));
    for (let round = 0; round < Number(rounds); round += 1) {
      for (const [name, command] of sides) samples.get(name)?.push(await cpuSeconds(command, env));
    }
    for (const [name, seconds] of samples) {
      const spread = `${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}`;
      process.stdout.write(`| ${name} | ${median(seconds).toFixed(2)} s (${spread}) |\n`);
    }
    await draw({
      ...{ file: 'start', title: 'A command from start to end', unit: 'ms of processor time' },
      names: [...samples.keys()],
      series: { measured: [...samples.values()].map((seconds) => median(seconds) * 1000) },
    });
    const missed = missedOf(
      Object.entries(MOST).map(([what, atMost]) => ({
        ...{ what: `seconds of processor time of ${what}`, atMost },
        found: median(samples.get(what) ?? []),
      })),
    );
    if (missed.length > 0) throw new Error(`Missed: ${missed.join('; ')}.`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A report of rows is shown as well: most of it is DuckDB's own start. */
function sidesOf(program: string): (readonly [string, readonly string[]])[] {
  return [...Object.keys(MOST), 'report tenants'].map((name) => [name, [program, ...name.split(' ')]]);
}
