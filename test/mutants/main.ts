/**
 * `npm run mutants [-- --count N] [--seed S] [--room R,R] [--near]`: draws faults at random from the last commit, makes each in a copy
 * of the tree and runs the fast tests that reach it, the nearest first, until one fails. `--near` runs the three nearest only, without a
 * recording those of the room. `--room warehouse/lake` runs its slow tests too.
 */

import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { EQUIVALENT } from './equivalent.ts';
import { describeMutant, type Mutant, randomFrom } from './mutant.ts';
import { mutantsOfSql } from './sql.ts';
import { mutantsOfTypeScript } from './typescript.ts';

const ROOMS = 'workflows warehouse webhook billing archive activities reports finance lib/files'.split(' ');
/** Drawn only when it is named, since its tests have a PostgreSQL and are slow: they are run for it too. */
const LAKE = 'warehouse/lake';
const ROOT = join(import.meta.dirname, '../..');
/** Own ones in the copy: what they hold depends on the sources. */
const CACHES_OF_SOURCES = new Set(['builds', 'vitest', 'workflows']);
const NEAREST = 6;
/** Of the short form, which is part of all tests and does not check types. */
const NEAR = 3;
const FAST_TEST = /(?<!\.slow)\.test\.ts$/;
const SLOW_TEST = /\.slow\.test\.ts$/;
/** Ends an endless loop; the whole fast suite takes less on a quiet machine. */
const MAX_RUN_MS = 600_000;
/** Such a test may have failed because the machine is busy. */
const LATE = /timed out|in time|Timeout/;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    room: { type: 'string' },
    near: { type: 'boolean', default: false },
  },
});

interface Reach {
  readonly testFile: string;
  /** As `FILE#FUNCTION`. */
  readonly functions: ReadonlySet<string>;
}

type Outcome = { readonly caughtBy: string | null; readonly isLate?: boolean } | 'invalid';

const folder = mkdtempSync(join(tmpdir(), 'billsync-mutants-'));
const copy = join(folder, 'tree');
const REPORT = join(folder, 'report.json');

function roomOf(file: string): string {
  return [LAKE, ...ROOMS].find((room) => file.startsWith(`${room}/`)) ?? '';
}

function* drawMutants(seed: number): Generator<Mutant> {
  const rooms = values.room?.split(',') ?? ROOMS;
  const files = git('ls-files', ...rooms.map((room) => `${room}/`));
  const drawn = files.split('\n').filter((file) => rooms.includes(roomOf(file)));
  const all = drawn.flatMap((file) => {
    if (/\.sql$/.test(file)) return mutantsOfSql(file, readFileSync(join(copy, file)));
    return /\.ts$/.test(file) ? mutantsOfTypeScript(file, readFileSync(join(copy, file))) : [];
  });
  const random = randomFrom(seed);
  // A kind is as likely as the root of its number, so that the many constants do not crowd out the few joins.
  const kinds = [...Map.groupBy(all, ({ file, kind }) => `${file.endsWith('.sql')} ${kind}`).values()].map(
    (mutants) => ({ mutants, weight: Math.sqrt(mutants.length) }),
  );
  const weight = kinds.reduce((sum, kind) => sum + kind.weight, 0);
  for (let left = all.length; left > 0; ) {
    const at = random() * weight;
    let sum = 0;
    const kind = kinds.find((of) => {
      sum += of.weight;
      return sum > at;
    });
    const [mutant] = kind?.mutants.splice(Math.floor(random() * kind.mutants.length), 1) ?? [];
    if (mutant === undefined) continue;
    left -= 1;
    yield mutant;
  }
}

function isEquivalent(mutant: Mutant): boolean {
  const line = readFileSync(join(copy, mutant.file), 'utf8').split('\n')[mutant.line - 1]?.trim() ?? '';
  return EQUIVALENT.some(
    ({ file, code, kind }) => file === mutant.file && line.includes(code) && kind === mutant.kind,
  );
}

/** Resolves with the exit code; null: the time limit ended it. */
function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  limit = MAX_RUN_MS,
) {
  return new Promise<{ readonly status: number | null; readonly output: string }>((resolve) => {
    const child = spawn(command, args, {
      cwd: copy,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-20_000);
      });
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), limit);
    child.once('close', (status) => {
      clearTimeout(timer);
      resolve({ status, output });
    });
  });
}

async function runTests(files: readonly string[]): Promise<Outcome> {
  const outcome = await runOnce(files);
  return outcome !== 'invalid' && outcome.isLate === true ? runOnce(files) : outcome;
}

async function runOnce(files: readonly string[]): Promise<Outcome> {
  if (files.length === 0) return { caughtBy: null };
  rmSync(REPORT, { force: true });
  const limits = ['--bail=1', '--testTimeout=120000', '--hookTimeout=120000'];
  // A build for each fault takes longer than the tests, and few of them need one.
  const { status, output } = await run(process.execPath, vitest(...limits, ...files), {
    TEST_BUILDS_ON_USE: '1',
  });
  if (status === 0) return { caughtBy: null };
  if (status === null) return { caughtBy: 'the time limit' };
  let results: TestReport['testResults'];
  try {
    results = readReport();
  } catch {
    return { caughtBy: `no test: ${output.slice(-300)}` };
  }
  const failed = results.flatMap(({ name, message, assertionResults }) => {
    const test = assertionResults.find((result) => result.status === 'failed');
    if (test === undefined && message === '') return [];
    const messages = test === undefined ? [message] : test.failureMessages;
    return [{ file: name.slice(copy.length + 1), test: test?.fullName ?? 'cannot be loaded', messages }];
  });
  const first = failed.find(({ test }) => test !== 'cannot be loaded') ?? failed[0];
  // A statement that DuckDB cannot plan is no plausible fault.
  if (first?.messages.some((text) => /\b(Parser|Binder) Error\b|SyntaxError/.test(text))) return 'invalid';
  if (first === undefined) return { caughtBy: `exit code ${status}` };
  return {
    caughtBy: `${first.file}: ${first.test}`,
    isLate: first.messages.some((text) => LATE.test(text)),
  };
}

interface TestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

interface Recording {
  readonly commit: string;
  readonly files: readonly { readonly testFile: string; readonly functions: readonly string[] }[];
}

const RECORDING = join(ROOT, '.cache/mutants.json');

/** Of the last recording only the test files that have changed since are recorded again. */
async function readReach(): Promise<readonly Reach[]> {
  const last = existsSync(RECORDING) ? (JSON.parse(readFileSync(RECORDING, 'utf8')) as Recording) : null;
  const commit = git('rev-parse', 'HEAD').trim();
  const changed =
    last === null ? [] : git('diff', '--name-only', '--no-renames', last.commit, commit).split('\n');
  const fresh = changed.filter((file) => FAST_TEST.test(file) && existsSync(join(copy, file)));
  const isKept = (file: string) => !changed.includes(file) && existsSync(join(copy, file));
  const kept = (last?.files ?? []).filter(({ testFile }) => isKept(testFile));
  const recorded = last === null || fresh.length > 0 ? await recordReach(fresh) : [];
  const recording: Recording = { commit, files: [...kept, ...recorded] };
  writeFileSync(RECORDING, JSON.stringify(recording));
  // A function that is new since the recording is taken to be reached with its file.
  const reached = (functions: readonly string[]) => [
    ...functions,
    ...changed.filter((file) => functions.some((name) => name.startsWith(`${file}#`))),
  ];
  return recording.files.map(({ testFile, functions }) => ({
    testFile,
    functions: new Set(reached(functions)),
  }));
}

/** Runs the fast tests once, unchanged. A file that fails when it is recorded is left out, since it would catch everything. */
async function recordReach(testFiles: readonly string[]): Promise<Recording['files']> {
  const into = join(folder, 'reach');
  mkdirSync(into);
  for (const path of [folder, into]) chmodSync(path, 0o711);
  await run(process.execPath, vitest(...testFiles), { TEST_REACH: into }, 6 * MAX_RUN_MS);
  const failed = readReport().flatMap(({ name, status }) =>
    status === 'failed' ? [name.slice(copy.length + 1)] : [],
  );
  for (const file of failed)
    process.stdout.write(`Left out, because it fails when it is recorded: ${file}\n`);
  return readdirSync(into)
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(join(into, file), 'utf8')) as Recording['files'][number])
    .filter(({ testFile }) => !failed.includes(testFile));
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

function vitest(...args: readonly string[]): readonly string[] {
  const output = ['--reporter=json', `--outputFile=${REPORT}`];
  const projects = args.some((arg) => SLOW_TEST.test(arg)) ? ['--project=slow'] : [];
  return ['node_modules/vitest/vitest.mjs', 'run', '--project=fast-*', ...projects, ...output, ...args];
}

/** @throws Error there is no report: a global set-up failed */
function readReport(): TestReport['testResults'] {
  return (JSON.parse(readFileSync(REPORT, 'utf8')) as TestReport).testResults;
}

/** Without a recording, the tests of the same room. */
function testsOf({ file, within }: Mutant, reach: readonly Reach[] | null): readonly string[] {
  const mirrored = `test/${dirname(file).replace(/\/sql$|\/session.*$|\/views$|\/migrations$/, '')}/`;
  // A test of statements often names their file, or the view that it makes, and may run them without our connection.
  const name = basename(file).replace(/^\d+-|\.\w+$/g, '');
  const isNamedIn = (testFile: string): boolean => {
    const text = readFileSync(join(copy, testFile), 'utf8');
    return text.includes(name) || text.includes(name.replaceAll('-', '_'));
  };
  const reaches = ({ testFile, functions }: Reach): boolean => {
    if (file.endsWith('.sql'))
      return (
        (testFile.startsWith(mirrored) && isNamedIn(testFile)) ||
        functions.has(
          file.startsWith('warehouse/')
            ? 'warehouse/duckdb/database.ts#open'
            : 'reports/open-published-file.ts#openPublishedFile',
        )
      );
    // The bundle of workflows runs in contexts whose calls are not recorded.
    if (file.startsWith('workflows/') && testFile.startsWith('test/workflows/')) return true;
    return functions.has(file) || functions.has(`${file}#${within ?? ''}`);
  };
  const nearness = ({ testFile, functions }: Reach): number =>
    (isNamedIn(testFile) ? 0 : 1e6) + (testFile.startsWith(mirrored) ? 0 : 1e5) + functions.size;
  const slow = file.startsWith(`${LAKE}/`) ? testsOfRoom(LAKE, SLOW_TEST) : [];
  return [...(reach?.filter(reaches) ?? testsOfRoom(file.split('/')[0] ?? '')), ...slow]
    .toSorted((a, b) => nearness(a) - nearness(b))
    .map(({ testFile }) => testFile);
}

function testsOfRoom(room: string, kind = FAST_TEST): readonly Reach[] {
  const folder = join('test', room);
  const names = readdirSync(join(copy, folder), { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => kind.test(name))
    .map((name) => ({ testFile: join(folder, name), functions: new Set<string>() }));
}

async function outcomeOf(mutant: Mutant, reach: readonly Reach[] | null): Promise<Outcome> {
  const path = join(copy, mutant.file);
  const bytes = readFileSync(path);
  const changed = [bytes.subarray(0, mutant.start), Buffer.from(mutant.after), bytes.subarray(mutant.end)];
  writeFileSync(path, Buffer.concat(changed));
  try {
    const tests = testsOf(mutant, reach);
    const near = await runTests(tests.slice(0, values.near ? NEAR : NEAREST));
    if (values.near || near === 'invalid' || near.caughtBy !== null) return near;
    // Types are checked by `npm test` too.
    if (mutant.file.endsWith('.ts')) {
      const { status } = await run(process.execPath, ['node_modules/typescript/bin/tsc', '--singleThreaded']);
      if (status !== 0) return 'invalid';
    }
    return await runTests(tests.slice(NEAREST));
  } finally {
    writeFileSync(path, bytes);
  }
}

async function main(): Promise<boolean> {
  git('worktree', 'add', '--quiet', '--detach', copy, 'HEAD');
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  mkdirSync(join(copy, '.cache'));
  for (const name of readdirSync(join(ROOT, '.cache')))
    if (!CACHES_OF_SOURCES.has(name)) symlinkSync(join(ROOT, '.cache', name), join(copy, '.cache', name));

  const [seed, count] = [Number(values.seed), Number(values.count)];
  process.stdout.write(`Seed ${seed}.\n`);
  const reach = values.near && !existsSync(RECORDING) ? null : await readReach();
  const tried: { readonly mutant: Mutant; readonly caughtBy: string | null }[] = [];
  for (const mutant of drawMutants(seed)) {
    if (tried.length === count) break;
    if (isEquivalent(mutant)) continue;
    const outcome = await outcomeOf(mutant, reach);
    if (outcome === 'invalid') continue;
    tried.push({ mutant, ...outcome });
    const result = outcome.caughtBy === null ? 'SURVIVED' : `caught by ${outcome.caughtBy}`;
    process.stdout.write(`${tried.length} ${describeMutant(mutant)}: ${result}\n`);
  }

  const caughtOf = (part: typeof tried) => part.filter(({ caughtBy }) => caughtBy !== null).length;
  const sentence = (part: typeof tried) =>
    `caught ${caughtOf(part)} of ${part.length} (${Math.round((100 * caughtOf(part)) / Math.max(1, part.length))} %)`;
  for (const [room, part] of Map.groupBy(tried, ({ mutant }) => roomOf(mutant.file)))
    process.stdout.write(`${room}: ${sentence(part)}\n`);
  process.stdout.write('Survivors:\n');
  for (const { mutant, caughtBy } of tried)
    if (caughtBy === null) process.stdout.write(`  ${describeMutant(mutant)}\n`);
  process.stdout.write(`${sentence(tried)}, seed ${seed}\n`);
  // How many of a few faults the near tests alone catch varies too much for a limit: then only none of them is a failure.
  return caughtOf(tried) >= (values.near ? 1 : tried.length * 0.85);
}

try {
  process.exitCode = (await main()) ? 0 : 1;
} finally {
  git('worktree', 'remove', '--force', copy);
  rmSync(folder, { recursive: true, force: true });
}
