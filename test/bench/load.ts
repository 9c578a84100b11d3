/**
 * Time of a load with every check, as a ratio to the rawest typed `read_csv` of the same file and to a peer. Each side runs in
 * a process of its own, in turn, and ratios are taken within a round.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtProgram } from '../../scripts/built-program.ts';
import { installPythonTool } from '../support/tools/installed-tools.ts';
import { makeCsv } from './support/make-csv.ts';
import { type Rounds, ratio, ratioTable, type Sample } from './support/ratios.ts';
import { inTurn, missedOf, type Promised } from './support/rounds.ts';
import { runMeasured } from './support/run-measured.ts';
import { scanFile } from './support/scan-file.ts';

export const summary =
  'load against raw read_csv, dlt, and cp + openssl + raw load [rows] [rounds] [forms,whole,dlt]';

const SUPPORT = fileURLToPath(new URL('./support/', import.meta.url));

interface Bench {
  readonly csvPath: string;
  readonly folder: string;
  readonly rows: number;
  readonly rounds: number;
}

const PARTS: Readonly<Record<string, (bench: Bench) => Promise<readonly Promised[]>>> = {
  forms,
  whole,
  dlt: peer,
};

export async function main([
  rows = '1000000',
  rounds = '5',
  parts = 'forms,whole,dlt',
]: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-bench-'));
  const missed: string[] = [];
  try {
    const csvPath = join(folder, 'invoice.csv');
    await makeCsv(csvPath, Number(rows));
    await scanFile(csvPath);
    for (const name of parts.split(',')) {
      const part = PARTS[name];
      if (part === undefined) throw new Error(`There is no part ${name}: ${Object.keys(PARTS).join(', ')}.`);
      const promises = await part({ csvPath, folder, rows: Number(rows), rounds: Number(rounds) });
      missed.push(...missedOf(promises));
      process.stdout.write('\n');
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  if (missed.length > 0) throw new Error(`Missed: ${missed.join('; ')}.`);
}

async function forms(bench: Bench): Promise<readonly Promised[]> {
  const rounds = await inTurn(bench, {
    floor: (folder) => loadOnce(bench, { side: 'floor', folder }),
    billsync: (folder) => loadOnce(bench, { side: 'ours', folder }),
  });
  show(`${bench.rows} rows: load, commit and checkpoint`, rounds);
  const side = 'billsync';
  return [
    {
      what: 'time of the load to the floor',
      found: ratio(rounds, { side, floor: 'floor', of: 'ms' }),
      atMost: 1.3,
    },
  ];
}

/** From a file in a folder to published rows, scan, hash and archive included, by the program as it is published. */
async function whole(bench: Bench): Promise<readonly Promised[]> {
  const program = await builtProgram();
  const rounds = await inTurn(bench, {
    'cp, openssl dgst, raw load': async (folder) => {
      const copy = join(folder, 'copy.csv');
      const copied = await runMeasured(['cp', bench.csvPath, copy]);
      const hashed = await runMeasured(['openssl', 'dgst', '-sha256', copy]);
      const raw = [
        process.execPath,
        join(SUPPORT, 'raw-load.mjs'),
        copy,
        join(folder, 'raw.duckdb'),
      ] as const;
      return { ms: copied.ms + hashed.ms + (await runMeasured(raw)).ms };
    },
    'billsync import': async (folder) => {
      const env = { BILLSYNC_DATA_DIR: join(folder, 'data') };
      const { ms, stdout } = await runMeasured([program, 'import', '--json', bench.csvPath], env);
      const [imported] = JSON.parse(stdout) as { shipments: number }[];
      if (imported?.shipments !== bench.rows) throw new Error(`billsync import answered ${stdout}`);
      return { ms };
    },
  });
  show(`${bench.rows} rows: whole processes`, rounds);
  const floor = 'cp, openssl dgst, raw load';
  return [
    {
      what: 'billsync import to cp, openssl and raw load',
      found: ratio(rounds, { side: 'billsync import', floor, of: 'ms' }),
      atMost: 1.6,
    },
  ];
}

async function peer(bench: Bench): Promise<readonly Promised[]> {
  const packages = await installDlt();
  const dlt = async (way: string, folder: string): Promise<Sample> => {
    const script = join(SUPPORT, 'dlt_load.py');
    const { stdout } = await runMeasured(['python3', script, way, bench.csvPath, folder], {
      PYTHONPATH: packages,
    });
    return answerOf(stdout, bench.rows);
  };
  const ours = 'billsync';
  const rounds = await inTurn(bench, {
    [ours]: (folder) => loadOnce(bench, { side: 'ours', folder }),
    'dlt, arrow tables': (folder) => dlt('arrow', folder),
    'dlt, read_csv_duckdb': (folder) => dlt('duckdb', folder),
  });
  show(`${bench.rows} rows: dlt 1.31.0 without any check or row number`, rounds, ours);
  return ['dlt, arrow tables', 'dlt, read_csv_duckdb'].map((floor) => ({
    what: `time of the load to ${floor}`,
    found: ratio(rounds, { side: ours, floor, of: 'ms' }),
    atMost: 0.5,
  }));
}

async function loadOnce(
  { csvPath, rows }: Bench,
  { side, folder }: { readonly side: string; readonly folder: string },
): Promise<Sample> {
  const program = join(SUPPORT, 'load-once.ts');
  const { stdout } = await runMeasured([process.execPath, program, side, csvPath, folder]);
  return answerOf(stdout, rows);
}

function answerOf(stdout: string, rows: number): Sample {
  const answer = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Sample & { readonly rows: number };
  if (answer.rows !== rows) throw new Error(`${answer.rows} of ${rows} rows were loaded`);
  return answer;
}

function show(title: string, rounds: Rounds, floor = [...rounds.keys()][0] ?? ''): void {
  process.stdout.write(`${title}\n\n${ratioTable(rounds, floor)}\n\n`);
}

/** The folder of its packages (PYTHONPATH). @throws Error python3 with pip is missing, or the packages cannot be had */
function installDlt(): Promise<string> {
  return installPythonTool({
    name: 'dlt-1.31.0',
    packages: ['dlt[duckdb,parquet]==1.31.0', 'duckdb==1.5.5', 'pyarrow==26.0.1', 'pandas==3.1.1'],
  });
}
