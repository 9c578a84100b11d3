/**
 * `npm test` and its longer forms. Each step is announced on stderr; the last line on stdout counts the tests.
 *
 *   scripts/test                  types, lint and dead code, the fast tests, the smoke tests (npm test)
 *   scripts/test --slow           the slow tests, and the smoke tests in two more environments
 *   scripts/test --slow --total   the same; the last line also counts the run before it (.ci/run)
 *   scripts/test --all            everything (npm run test:all)
 *   scripts/test PATH…            these tests only; the arguments go to vitest
 */

import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Part {
  readonly title: string;
  readonly args: readonly string[];
  readonly tools: 'fast' | 'smoke' | 'slow';
  readonly env?: Readonly<Record<string, string>>;
}

interface Count {
  readonly passed: number;
  readonly failed: number;
}

/** A group of tests that could not be started counts as one failed test. */
const NOT_RUN: Count = { passed: 0, failed: 1 };
const CACHE = join(import.meta.dirname, '../.cache');
const COUNT_FILE = join(CACHE, 'test-count.json');
const CHOSEN = process.argv.slice(2);
const FORM = CHOSEN.find((flag) => flag === '--slow' || flag === '--all') ?? null;

const FAST: Part = { title: 'fast tests', tools: 'fast', args: ['--project=fast-*'] };
const SMOKE: Part = { title: 'smoke tests', tools: 'smoke', args: ['--project=smoke'] };
const SLOW: readonly Part[] = [
  { title: 'slow tests', tools: 'slow', args: ['--project=slow'] },
  ...['1', '2'].map((shift) => ({
    ...SMOKE,
    title: `smoke tests in environment ${shift}`,
    env: { TEST_ENVIRONMENT: shift },
  })),
];

function partsOf(): readonly Part[] {
  if (FORM === '--slow') return SLOW;
  if (FORM === '--all') return [FAST, SMOKE, ...SLOW];
  if (CHOSEN.length > 0) return [{ title: 'chosen tests', tools: 'slow', args: CHOSEN }];
  return [FAST, SMOKE];
}

const startedMs = Date.now();
function announce(text: string): void {
  process.stderr.write(`\n[${Math.round((Date.now() - startedMs) / 1_000)} s] ${text}\n`);
}

function missingPrograms(parts: readonly Part[]): readonly string[] {
  const isThere = (program: string, args = ['--version']) => spawnSync(program, args).status === 0;
  const missing: string[] = [];
  if (!isThere('git')) missing.push('git: install it (Debian: apt-get install git)');
  if (!isThere('python3', ['-m', 'pip', '--version']))
    missing.push('python3 with pip: install both (Debian: apt-get install python3-pip)');
  if (parts.some(({ tools }) => tools === 'slow')) {
    if (!isThere('tar')) missing.push('tar: install it (Debian: apt-get install tar)');
    if (!isThere('promtool') && !isThere('apt-get'))
      missing.push('promtool: install Prometheus, so that promtool is on PATH');
    if (!isThere('systemd-analyze') && process.getuid?.() !== 0)
      missing.push('systemd-analyze: install systemd (Debian: apt-get install systemd)');
  }
  return missing;
}

function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
    child.once('error', () => resolve(1));
    child.once('close', (code) => resolve(code ?? 1));
  });
}

async function runPart({ title, args, env }: Part): Promise<Count> {
  announce(title);
  const report = join(CACHE, 'test-report.json');
  rmSync(report, { force: true });
  const status = await run('npx', ['--no-install', 'vitest', 'run', ...args], env);
  return countOf(report, status);
}

/** A skipped test counts as failed, and so does a file that cannot be loaded and has no failed test of its own. */
function countOf(path: string, status: number): Count {
  let report: TestReport;
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as TestReport;
  } catch (error) {
    process.stderr.write(`The test runner left no report: ${(error as Error).message}\n`);
    return NOT_RUN;
  }
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults);
  const passed = tests.filter(({ status }) => status === 'passed').length;
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed'),
  ).length;
  for (const test of tests)
    if (test.status !== 'passed' && test.status !== 'failed')
      process.stderr.write(`Not run: ${test.fullName}\n`);
  const failed = tests.length - passed + brokenFiles;
  return { passed, failed: failed === 0 && (status !== 0 || passed === 0) ? 1 : failed };
}

interface TestReport {
  readonly testResults: readonly {
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function earlierCount(): Count {
  try {
    return JSON.parse(readFileSync(COUNT_FILE, 'utf8')) as Count;
  } catch {
    return NOT_RUN;
  }
}

async function main(): Promise<boolean> {
  mkdirSync(CACHE, { recursive: true });
  const counts: Count[] = CHOSEN.includes('--total') ? [earlierCount()] : [];
  rmSync(COUNT_FILE, { force: true });
  const parts = partsOf();
  const missing = missingPrograms(parts);
  if (missing.length > 0) {
    process.stderr.write(
      `The tests need programs that this machine does not have:\n  ${missing.join('\n  ')}\n`,
    );
    return finish([...counts, NOT_RUN]);
  }

  const install = (tools: string) => run('node', ['scripts/install-test-tools.ts', tools]);
  const checks = parts.includes(FAST) ? [run('npm', ['run', '--silent', 'check'])] : [];
  announce(`${checks.length > 0 ? 'types, lint, dead code; ' : ''}programs that the tests start`);
  const prepared = await Promise.all([
    ...checks,
    run('node', ['scripts/install-temporal.ts']),
    install('fast'),
  ]);
  if (prepared.some((status) => status !== 0)) return finish([...counts, NOT_RUN]);

  // The installations wait for registries most of the time, so they run beside the fast tests.
  const smoke = parts.some(({ tools }) => tools !== 'fast') ? install('smoke') : Promise.resolve(0);
  const slow = smoke.then((status) =>
    parts.some(({ tools }) => tools === 'slow') ? install('slow') : status,
  );
  const installed = { fast: Promise.resolve(0), smoke, slow };
  for (const part of parts) {
    const isInstalled = (await installed[part.tools]) === 0;
    counts.push(isInstalled ? await runPart(part) : NOT_RUN);
  }

  announce('all tests have run');
  return finish(counts);
}

function finish(counts: readonly Count[]): boolean {
  const total = {
    passed: counts.reduce((sum, { passed }) => sum + passed, 0),
    failed: counts.reduce((sum, { failed }) => sum + failed, 0),
  };
  writeFileSync(COUNT_FILE, JSON.stringify(total));
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  return total.failed === 0;
}

process.exitCode = (await main()) ? 0 : 1;
