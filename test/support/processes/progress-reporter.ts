/** Prints how far a run is at every tenth of its files, the environment of each file that fails, and which fast files are slow. */

import { relative } from 'node:path';
import type { Reporter, TestModule, TestSpecification } from 'vitest/node';
import { environmentOf } from './environment.ts';

/** A file that takes longer is named `*.slow.test.ts`. A busy machine exceeds it too, so it is a hint and no failure. */
const MAX_FAST_MS = 8_000;

export class ProgressReporter implements Reporter {
  #files = 0;
  #done = 0;
  #startedMs = 0;
  #remarks: string[] = [];

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#files = specifications.length;
    this.#done = 0;
    this.#startedMs = performance.now();
    this.#remarks = [];
  }

  onTestModuleEnd(module: TestModule): void {
    this.#done += 1;
    const file = relative(module.project.config.root, module.moduleId);
    const { duration } = module.diagnostic();
    if (!module.ok()) this.#remarks.push(`environment of ${file}: ${JSON.stringify(environmentOf(file))}\n`);
    if (module.project.name.startsWith('fast-') && duration > MAX_FAST_MS)
      this.#remarks.push(
        `${file} took ${Math.round(duration / 1_000)} s: name it *.slow.test.ts, or shorten it\n`,
      );
    const tenth = (files: number) => Math.floor((files * 10) / this.#files);
    if (this.#files < 20 || tenth(this.#done) === tenth(this.#done - 1)) return;
    const seconds = Math.round((performance.now() - this.#startedMs) / 1_000);
    process.stderr.write(`tests: ${this.#done} of ${this.#files} files, ${seconds} s\n`);
  }

  onTestRunEnd(): void {
    process.stderr.write(this.#remarks.join(''));
  }
}
