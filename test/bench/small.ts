/**
 * Processor time of an import and a rebuild of many small invoices, as a ratio to the least work that stores and loads such files.
 * Each side runs in a process of its own, in turn, and ratios are taken within a round.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCsv } from './support/make-csv.ts';
import { median, type Rounds, ratio, ratioTable, type Sample } from './support/ratios.ts';
import { expectKept, inTurn, type Promised } from './support/rounds.ts';
import { runMeasured } from './support/run-measured.ts';

export const summary = 'import and rebuild of small invoices against their floors [files] [rows] [rounds]';

const PROGRAM = fileURLToPath(new URL('./support/small-once.ts', import.meta.url));

export async function main([files = '500', rows = '20', rounds = '3']: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-small-'));
  try {
    const csvFolder = join(folder, 'files');
    await mkdir(csvFolder);
    for (let number = 0; number < Number(files); number += 1) {
      const digits = `${number}`.padStart(12, '0');
      await makeCsv(join(csvFolder, `${digits}.csv`), Number(rows), `7f3a0000-1111-4222-8333-${digits}`);
    }
    const promises: Promised[] = [];
    for (const [work, atMost] of [
      ['import', 8],
      ['rebuild', 8],
    ] as const) {
      const floor = `${work} floor`;
      const sides = Object.fromEntries(
        [floor, work].map((side) => [
          side,
          (place: string) => runOnce(side, { csvFolder, folder: place, rows: Number(files) * Number(rows) }),
        ]),
      );
      const found = await inTurn({ folder, rounds: Number(rounds) }, sides);
      show(`${work} of ${files} files of ${rows} rows`, found, { floor, files: Number(files) });
      const of = (side: string): number =>
        median((found.get(side) ?? []).map(({ cpuMs }) => cpuMs ?? Number.NaN)) / Number(files);
      const least = of(floor);
      promises.push({
        what: `${work} of ${files} files of ${rows} rows, to its floor`,
        found: ratio(found, { side: work, floor, of: 'cpuMs' }),
        ...{ atMost, floor: `${least.toFixed(2)} ms a file` },
      });
    }
    expectKept(promises);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runOnce(
  side: string,
  { csvFolder, folder, rows }: { readonly csvFolder: string; readonly folder: string; readonly rows: number },
): Promise<Sample> {
  const command = [process.execPath, PROGRAM, side, csvFolder, folder] as const;
  const { stdout } = await runMeasured(command);
  const answer = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Sample & { readonly rows: number };
  if (answer.rows !== rows) throw new Error(`${answer.rows} of ${rows} rows were loaded`);
  return answer;
}

function show(
  title: string,
  rounds: Rounds,
  { floor, files }: { readonly floor: string; readonly files: number },
): void {
  const each = [...rounds].map(([side, samples]) => {
    const of = (key: 'ms' | 'cpuMs'): number =>
      median(samples.map((sample) => sample[key] ?? Number.NaN)) / files;
    return `${side}: ${of('cpuMs').toFixed(2)} ms of processor time a file, ${(1000 / of('ms')).toFixed(0)} files a second`;
  });
  process.stdout.write(`${title}\n\n${ratioTable(rounds, floor)}\n\n${each.join('\n')}\n`);
}
