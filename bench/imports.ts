/** What an import costs beside those before it: large files, one `billsync import` after the other into one warehouse. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtProgram } from '../scripts/built-program.ts';
import { cpuSeconds } from './support/cpu-seconds.ts';
import { makeCsv } from './support/make-csv.ts';
import { draw } from './support/plot.ts';
import { median } from './support/ratios.ts';
import { expectKept, type Promised } from './support/rounds.ts';

export const summary =
  'imports one after the other into one warehouse, the last against the first [rows each] [imports]';

const AT_MOST = 1.2;
/** The first and the last ones, by their median: one alone says little on a machine that is not ours alone. */
const COMPARED = 3;

/** @throws Error the promise was missed */
export async function main(args: readonly string[]): Promise<void> {
  expectKept(await measure(args));
}

export async function measure([rows = '2000000', imports = '16']: readonly string[]): Promise<
  readonly Promised[]
> {
  const program = await builtProgram();
  const folder = await mkdtemp(join(tmpdir(), 'billsync-imports-'));
  const csv = join(folder, 'invoice.csv');
  const seconds: number[] = [];
  try {
    for (let number = 0; number < Number(imports); number += 1) {
      const invoiceId = `7f3a0000-1111-4222-8333-${`${number}`.padStart(12, '0')}`;
      await makeCsv(csv, Number(rows), invoiceId, number * Number(rows));
      const env = { BILLSYNC_DATA_DIR: join(folder, 'data') };
      seconds.push(await cpuSeconds([program, 'import', csv], env));
      process.stdout.write(`| ${number + 1} | ${seconds.at(-1)?.toFixed(2)} s |\n`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const first = median(seconds.slice(0, COMPARED));
  const found = median(seconds.slice(-COMPARED)) / first;
  await draw({
    ...{ file: 'imports', title: `${imports} imports of ${rows} rows, one after the other`, kind: 'line' },
    ...{ unit: 'seconds of processor time', names: seconds.map((_, index) => `${index + 1}`) },
    ...{ series: { seconds }, atMost: first * AT_MOST },
  });
  const what = `the last of ${imports} imports of ${rows} rows, to the first`;
  return [{ what, found, atMost: AT_MOST, floor: `${first.toFixed(2)} s` }];
}
