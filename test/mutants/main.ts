/**
 * `npm run mutants [-- --slow] [NAME…]`: applies each fault of mutants.ts to a copy of the last commit and runs the fast tests until
 * one fails, first those of the area. `--slow` then runs the slow tests too. `--area` stops after the tests of the area.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MUTANTS, type Mutant, TESTS_OF } from './mutants.ts';

const ROOT = join(import.meta.dirname, '../..');
const args = process.argv.slice(2);
const names = args.filter((arg) => !arg.startsWith('--'));
const chosen = Object.entries(MUTANTS).flatMap(([area, mutants]) =>
  mutants
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((mutant) => ({ ...mutant, tests: TESTS_OF[area as keyof typeof TESTS_OF], area })),
);
const copy = join(mkdtempSync(join(tmpdir(), 'billsync-mutants-')), 'tree');

/** The one file of the folder that contains the text; null: there is none, or several. */
function fileOf({ folder, before }: Mutant): string | null {
  const found = readdirSync(join(copy, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|sql)$/.test(file))
    .map((file) => join(copy, folder, file))
    .filter((file) => readFileSync(file, 'utf8').split(before).length === 2);
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** @returns the first test that failed; null: all passed */
function firstFailure(vitestArgs: readonly string[]): string | null {
  const report = join(copy, 'mutant-report.json');
  rmSync(report, { force: true });
  const { status, stderr } = spawnSync(
    'npx',
    ['--no-install', 'vitest', 'run', '--bail=1', '--reporter=json', `--outputFile=${report}`, ...vitestArgs],
    { cwd: copy, encoding: 'utf8', maxBuffer: 1e9 },
  );
  if (status === 0) return null;
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as TestReport;
    const failures = testResults
      .filter((file) => file.status === 'failed')
      .map(({ name, assertionResults }) => ({
        file: name.slice(copy.length + 1),
        test: assertionResults.find((result) => result.status === 'failed')?.fullName,
      }));
    // After the first failure the other files of the run are reported as failed, without a test.
    const failed = failures.find(({ test }) => test !== undefined) ?? failures[0];
    if (failed !== undefined) return `${failed.file}: ${failed.test ?? 'cannot be loaded'}`;
  } catch {
    // The run ended without a report.
  }
  throw new Error(`The tests ended with ${status} and no failure: ${stderr.slice(-2_000)}`);
}

interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function outcomeOf(mutant: (typeof chosen)[number]): string {
  const file = fileOf(mutant);
  if (file === null) return `NOT APPLIED: not one file of ${mutant.folder}/ has the text; update mutants.ts`;
  const text = readFileSync(file, 'utf8');
  writeFileSync(
    file,
    text.replace(mutant.before, () => mutant.after),
  );
  try {
    const area = firstFailure(['--project=fast-*', ...mutant.tests]);
    if (area !== null) return `caught by ${area}`;
    if (args.includes('--area')) return 'NOT CAUGHT by the tests of the area';
    const fast = firstFailure(['--project=fast-*', '--project=smoke']);
    if (fast !== null) return `caught by ${fast}`;
    const slow = args.includes('--slow') ? firstFailure(['--project=slow']) : null;
    return slow === null ? 'NOT CAUGHT' : `caught only by ${slow}`;
  } finally {
    writeFileSync(file, text);
  }
}

execFileSync('git', ['worktree', 'add', '--quiet', '--detach', copy, 'HEAD'], { cwd: ROOT });
try {
  for (const folder of ['node_modules', '.cache']) symlinkSync(join(ROOT, folder), join(copy, folder));
  let caught = 0;
  for (const mutant of chosen) {
    const outcome = outcomeOf(mutant);
    if (outcome.startsWith('caught by')) caught += 1;
    process.stdout.write(`${mutant.area}, ${mutant.name} (${mutant.effect}): ${outcome}\n`);
  }
  process.stdout.write(`${caught} of ${chosen.length} caught by the fast tests\n`);
  process.exitCode = caught === chosen.length ? 0 : 1;
} finally {
  execFileSync('git', ['worktree', 'remove', '--force', copy], { cwd: ROOT });
  rmSync(join(copy, '..'), { recursive: true, force: true });
}
