/**
 * The order of test files where no earlier run tells how long each takes, as in a fresh checkout: vitest would take the size
 * of a file for that, and begin a minute of processes in twenty lines when everything else is done.
 */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those of twenty seconds and more on two cores at rest, the longest first; then those of ten that are small files. */
const LONG = [
  'test/worker/quirks.test.ts',
  'test/warehouse/lake/lake.test.ts',
  'test/end-to-end/up.test.ts',
  'test/end-to-end/lake.test.ts',
  'test/dashboard/in-the-browser.test.ts',
  'test/end-to-end/recovery.test.ts',
  'test/warehouse/chaos.test.ts',
  'test/reports/filters.test.ts',
  'test/end-to-end/roles.test.ts',
  'test/dashboard/server.test.ts',
  'test/security/any-hostile-sequence.test.ts',
  'test/workflows/backfill.test.ts',
  'test/simulation/simulation.test.ts',
  'test/end-to-end/upgrade.test.ts',
  'test/warehouse/load/chunks.test.ts',
  'test/docs/commands.test.ts',
  'test/sandbox/page.test.ts',
  'test/temporal/embedded.test.ts',
  'test/webhook/endpoint-chaos.test.ts',
  'test/worker/absent-temporal.test.ts',
  'test/warehouse/load/tolerate.test.ts',
  'test/warehouse/load/corpus.test.ts',
  'test/reports/metamorphic.test.ts',
  'test/package.test.ts',
  'test/workflows/confirm-void.test.ts',
  'test/warehouse/recover/keep.test.ts',
  'test/cli/upgrade.test.ts',
  'test/conformance/main.test.ts',
  'test/warehouse/load/two-readers.test.ts',
  'test/fuzz/fuzz.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Projects stay as they are: each begins once the one before it has nothing more to begin.
    return sorted.toSorted((a, b) => (a.project.name === b.project.name ? placeOf(a) - placeOf(b) : 0));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/${name}`));
  return place === -1 ? LONG.length : place;
}
