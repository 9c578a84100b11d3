import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { AttackReporter } from './hostile/attack-reporter.ts';

/** `npm run test:security`: the tests of safety that `npm test` has as well, and the long ones, which it has not. */
// biome-ignore lint/style/noDefaultExport: vitest reads its settings from the default export.
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    testTimeout: base.test?.testTimeout ?? 120_000,
    hookTimeout: base.test?.hookTimeout ?? 120_000,
    include: ['test/security/**/*.test.ts', 'test/security/**/*.long.ts', 'test/fuzz/*.test.ts'],
    setupFiles: base.test?.setupFiles ?? [],
    globalSetup: ['test/support/processes/build-program.ts', 'test/support/processes/global-setup.ts'],
    reporters: ['default', new AttackReporter()],
  },
});
