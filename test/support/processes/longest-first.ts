/**
 * The order of test files where no earlier run tells how long each takes, as in a fresh checkout: vitest would take the size
 * of a file for that, and begin a minute of processes in twenty lines when everything else is done. What vitest remembers of an
 * earlier run counts first; a file it does not know has its place by the table that `npm run test-seconds` writes.
 */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SECONDS = JSON.parse(readFileSync(new URL('test-seconds.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, number>
>;

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const seconds = new Map(sorted.map((file) => [file, this.secondsOf(file)]));
    // Projects stay as they are: each begins once the one before it has nothing more to begin.
    return sorted.toSorted((a, b) =>
      a.project.name === b.project.name ? (seconds.get(b) ?? 0) - (seconds.get(a) ?? 0) : 0,
    );
  }

  private secondsOf(specification: TestSpecification): number {
    const remembered = this.ctx.cache.getTestSpecificationResult(specification);
    const file = relative(this.ctx.config.root, specification.moduleId);
    return remembered === undefined ? (SECONDS[file] ?? 0) : remembered.duration / 1_000;
  }
}
