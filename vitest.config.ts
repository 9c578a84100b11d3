import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Tests that share one Temporal dev server and one workflow bundle; the others do not wait for it to start. */
const onSharedTemporal = ['test/workflows/**/*.test.ts', 'test/hazards/temporal.test.ts'];

// biome-ignore lint/style/noDefaultExport: vitest reads its settings from the default export.
export default defineConfig({
  test: {
    // Ends what hangs; on a busy machine a slow test is no broken one, and speed is for `npm run bench`.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // By default one core is left idle; most of ours wait for other processes, so one more than there are cores runs.
    maxWorkers: Math.max(2, availableParallelism()) + 1,
    projects: [
      {
        extends: true,
        test: {
          name: 'temporal',
          include: onSharedTemporal,
          globalSetup: ['test/support/processes/build-program.ts', 'test/support/processes/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'all others',
          include: ['test/**/*.test.ts'],
          exclude: onSharedTemporal,
          globalSetup: ['test/support/processes/build-program.ts'],
        },
      },
    ],
  },
});
