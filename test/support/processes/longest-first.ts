/**
 * Starts the longest test files first. Vitest sorts by the durations of an earlier run; in a fresh checkout, where it would use the
 * sizes of the files, the table of `npm run test-seconds` is used.
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
    const earlier = this.ctx.cache.getTestSpecificationResult(specification);
    const file = relative(this.ctx.config.root, specification.moduleId);
    return earlier === undefined ? (SECONDS[file] ?? 0) : earlier.duration / 1_000;
  }
}
