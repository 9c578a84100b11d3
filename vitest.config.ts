import { availableParallelism } from 'node:os';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

/** Cross every process boundary once, with real parts. */
const SMOKE = 'test/smoke/*.test.ts';
/** Files that take 8 s or more, or need a program that is installed for them alone. */
const SLOW = 'test/**/*.slow.test.ts';
/** Tests that share one Temporal dev server and one workflow bundle; the others do not wait for it to start. */
const onSharedTemporal = 'test/workflows/*.test.ts';

/** Fast tests that change the process they run in (its environment, its streams, Temporal's runtime) or measure it. */
const inProcessesOfTheirOwn = [
  'test/billing/large-details.test.ts',
  'test/cli/{doctor,terminal}.test.ts',
  'test/end-to-end/*.test.ts',
  'test/hazards/!(http).test.ts',
  'test/sandbox/command.test.ts',
  'test/security/!(client|deliveries|exports|operator|raw-http|sandbox|text-of-others).test.ts',
  'test/lib/temporal/!(ask-patiently|closed-connection|codec|encryption-keys).test.ts',
  'test/workflows/simulated/*.test.ts',
  'test/worker/!(beat-while-running|open-or-rebuild|refuse-unencrypted|watch-*).test.ts',
];

const aroundEachRun = ['test/support/processes/build-program.ts', 'test/support/processes/test-folders.ts'];
const withTemporal = [...aroundEachRun, 'test/support/processes/global-setup.ts'];

// Temporal's servers are Go programs with memory to spare. With this the tests of workflows took 30 s of processor time instead of 34.
process.env.GOGC ??= '400';

const settings = {
  // The seed is printed; `--sequence.seed=N` repeats an order.
  sequence: { shuffle: true },
  setupFiles: ['enter-environment', 'one-duckdb-thread', 'record-reach'].map(
    (name) => `test/support/processes/${name}.ts`,
  ),
  // The same flags as in bin/billsync.
  execArgv: ['--disable-proto=delete'],
  // Ends what hangs; on a busy machine a slow test is no broken one, and speed is for `npm run bench`.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  // The same limit as of `eventually`; the default of a second is too short for a busy machine.
  expect: { poll: { timeout: 120_000 } },
  // By default one core is left idle; most of ours wait for other processes, so one more than there are cores runs. Two more
  // took longer: 683 s instead of 613 s on two cores.
  maxWorkers: Math.max(2, availableParallelism()) + 1,
};

// Vitest starts projects in the order of their names.
// biome-ignore lint/style/noDefaultExport: vitest reads its settings from the default export.
export default defineConfig({
  test: {
    ...settings,
    reporters: ['default', 'json'],
    outputFile: { json: '.cache/test-report.json' },
    // A project reads what the one before it, or an earlier run, has made of a module: that was six of seven seconds of `transform`.
    fsModuleCache: true,
    fsModuleCachePath: '.cache/vitest',
    projects: [
      project('fast-alone', { include: inProcessesOfTheirOwn, exclude: [SLOW, SMOKE, onSharedTemporal] }),
      project('fast-temporal', {
        include: [onSharedTemporal],
        exclude: [SLOW],
        globalSetup: withTemporal,
        isolate: false,
      }),
      project('fast-together', {
        include: ['test/**/*.test.ts'],
        exclude: [SLOW, SMOKE, onSharedTemporal, ...inProcessesOfTheirOwn],
        // A process and its modules are used for many files, since starting both costs more than most files' tests.
        isolate: false,
        restoreMocks: true,
      }),
      project('slow', { include: [SLOW], globalSetup: withTemporal }),
      project('smoke', { include: [SMOKE] }),
    ],
  },
});

function project(
  name: string,
  test: NonNullable<TestProjectInlineConfiguration['test']>,
): TestProjectInlineConfiguration {
  return { extends: true, test: { name, globalSetup: aroundEachRun, ...test } };
}
