/** 2,000 seeds of the deterministic simulation; `--seed N` replays one and tells its story, `--mutant NAME` breaks the code. */

import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTANTS, type MutantName } from '../simulation/mutants.ts';
import { runSeeds, type Verdict } from '../simulation/run-seeds.ts';

export const summary =
  'the real workflows over a real warehouse in virtual time, 2,000 seeds of faults (--seeds, --seed, --mutant)';

export async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string', default: '2000' },
      from: { type: 'string', default: '1' },
      mutant: { type: 'string' },
      alone: { type: 'boolean', default: false },
    },
  });
  const mutant = mutantNamed(values.mutant);
  const broken = mutant === undefined ? {} : { mutant };
  if (values.seed !== undefined) {
    const tell = ({ told, wrong }: { told: readonly string[]; wrong: readonly string[] }): void =>
      console.log([...told, ...wrong.map((what) => `WRONG ${what}`)].join('\n'));
    return report(await runSeeds({ from: Number(values.seed), count: 1, onStory: tell, ...broken }), 0);
  }
  const [from, count] = [Number(values.from), Number(values.seeds)];
  if (values.alone) {
    console.log(JSON.stringify(await runSeeds({ from, count, ...broken })));
    return;
  }
  const began = performance.now();
  const processes = Math.min(availableParallelism(), count);
  const share = Math.ceil(count / processes);
  const verdicts = await Promise.all(
    Array.from({ length: processes }, (_, i) => {
      const own = ['--from', String(from + i * share), '--seeds', String(Math.min(share, count - i * share))];
      return runAlone(mutant === undefined ? own : [...own, '--mutant', mutant]);
    }),
  );
  report(verdicts.reduce(together), (performance.now() - began) / 1_000);
}

function mutantNamed(name: string | undefined): MutantName | undefined {
  if (name === undefined || name in MUTANTS) return name as MutantName | undefined;
  throw new Error(`There is no mutant ${name}; take ${Object.keys(MUTANTS).join(', ')}.`);
}

/** A process for each core: DuckDB and the workflows' sandbox each belong to one. */
async function runAlone(range: readonly string[]): Promise<Verdict> {
  const main = fileURLToPath(new URL('./main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'simulation', '--alone', ...range], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`A process of the simulation ended with ${code}.`);
  return JSON.parse(Buffer.concat(chunks).toString()) as Verdict;
}

function together(one: Verdict, other: Verdict): Verdict {
  return {
    seeds: one.seeds + other.seeds,
    invoices: one.invoices + other.invoices,
    acknowledged: one.acknowledged + other.acknowledged,
    replays: one.replays + other.replays,
    failures: [...one.failures, ...other.failures],
  };
}

/** @throws Error a seed failed; which, and how to see it again */
function report({ seeds, invoices, acknowledged, replays, failures }: Verdict, seconds: number): void {
  console.log(
    `${seeds} seeds, ${acknowledged} acknowledged events, ${invoices} invoices billed, ${replays} replays in ${seconds.toFixed(1)} s: ${failures.length} failed`,
  );
  if (failures.length === 0) return;
  for (const { seed, wrong } of failures.slice(0, 20)) {
    console.log(
      seed === null ? 'invariants' : `npm run chaos -- simulation --seed ${seed}`,
      wrong.slice(0, 5),
    );
  }
  throw new Error(`${failures.length} of ${seeds} seeds failed.`);
}
