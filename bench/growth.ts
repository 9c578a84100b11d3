/**
 * What one plain invoice costs beside a large warehouse against the same in an empty one: events, load, publication and the
 * hourly look for what is due, each side in a process of its own, in turn. Ratios of processor time within a round.
 */

import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fillWarehouse } from './support/make-published.ts';
import { draw } from './support/plot.ts';
import { median, ratio, ratioTable, type Sample } from './support/ratios.ts';
import { expectKept, inTurn, type Promised } from './support/rounds.ts';
import { runMeasured } from './support/run-measured.ts';

export const summary =
  'an invoice beside a large warehouse against an empty one [invoices there] [rows each] [rounds] [settled] [per publication]';

const PROGRAM = fileURLToPath(new URL('./support/growth-once.ts', import.meta.url));
const AT_MOST = 1.3;

interface Spent extends Sample {
  readonly spent: Readonly<Record<string, number>>;
}

/** @throws Error the promise was missed */
export async function main(args: readonly string[]): Promise<void> {
  expectKept(await measure(args));
}

export async function measure(args: readonly string[]): Promise<readonly Promised[]> {
  const [there = 100_000, rows = 30, rounds = 3, settled = 120, perPublication = 40] = args.map(Number);
  const folder = await mkdtemp(join(tmpdir(), 'billsync-growth-'));
  const spent = new Map<string, Spent[]>();
  try {
    const paths = { empty: join(folder, 'empty.duckdb'), grown: join(folder, 'grown.duckdb') };
    for (const [side, invoices] of [
      ['empty', 0],
      ['grown', there],
    ] as const) {
      await fillWarehouse(
        { path: paths[side], folder },
        { statements: './many-invoices.sql', variables: { invoices, rows } },
      );
    }
    const run = (side: keyof typeof paths) => async (place: string) => {
      await copyFile(paths[side], join(place, 'warehouse.duckdb'));
      const command = [process.execPath, PROGRAM, place] as const;
      const { stdout } = await runMeasured([...command, `${settled}`, `${perPublication}`, '1']);
      const sample = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Spent;
      spent.set(side, [...(spent.get(side) ?? []), sample]);
      return sample;
    };
    const found = await inTurn({ folder, rounds }, { empty: run('empty'), grown: run('grown') });
    process.stdout.write(
      `${settled} invoices, ${perPublication} a publication, beside ${there} of ${rows} rows\n\n`,
    );
    const steps = Object.keys(spent.get('empty')?.[0]?.spent ?? {});
    process.stdout.write(`${ratioTable(found, 'empty')}\n\n${stepTable(spent, steps)}\n\n`);
    const least = median((found.get('empty') ?? []).map(({ cpuMs }) => cpuMs ?? Number.NaN)) / settled;
    const beside = `${perPublication} a publication, beside ${there} of ${rows} rows`;
    const eachOf = (side: string): number[] => steps.map((step) => stepMs(spent, side, step) / settled);
    await draw({
      ...{ file: 'growth', title: `An invoice, ${beside}`, unit: 'ms of processor time', names: steps },
      series: { 'empty warehouse': eachOf('empty'), 'grown warehouse': eachOf('grown') },
    });
    return [
      {
        what: `an invoice, ${beside}, to the same in an empty warehouse`,
        found: ratio(found, { side: 'grown', floor: 'empty', of: 'cpuMs' }),
        ...{ atMost: AT_MOST, floor: `${least.toFixed(0)} ms an invoice` },
      },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type SpentBySide = ReadonlyMap<string, readonly Spent[]>;

function stepMs(spent: SpentBySide, side: string, step: string): number {
  return median((spent.get(side) ?? []).map((sample) => sample.spent[step] ?? 0));
}

/** Processor time of each step, in ms, all invoices together. */
function stepTable(spent: SpentBySide, steps: readonly string[]): string {
  const of = (side: string, step: string): string => stepMs(spent, side, step).toFixed(0);
  const lines = steps.map((step) => `| ${step} | ${of('empty', step)} | ${of('grown', step)} |`);
  return ['| step | empty, ms | grown, ms |', '| --- | --- | --- |', ...lines].join('\n');
}
