/**
 * The order of test files where no earlier run tells how long each takes, as in a fresh checkout: vitest would take the size
 * of a file for that, and begin a minute of processes in twenty lines when everything else is done.
 */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those of twenty seconds and more on two cores at rest, the longest first. */
const LONG = [
  'end-to-end/up',
  'dashboard/in-the-browser',
  'warehouse/lake/lake',
  'reports/filters',
  'workflows/backfill',
  'security/any-hostile-sequence',
  'dashboard/server',
  'end-to-end/recovery',
  'worker/quirks',
  'worker/worker',
  'archive/s3-commands',
  'package',
  'docs/commands',
  'warehouse/load/corpus',
  'warehouse/load/tolerate',
  'warehouse/load/chunks',
  'workflows/confirm-void',
  'sandbox/page',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // Projects stay as they are: each begins once the one before it has nothing more to begin.
    return sorted.toSorted((a, b) => (a.project.name === b.project.name ? placeOf(a) - placeOf(b) : 0));
  }
}

function placeOf({ moduleId }: TestSpecification): number {
  const place = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place === -1 ? LONG.length : place;
}
