/** After all tests: a folder that is still there was written to by something that outlived its test file, and fails the run. */

import { foldersOf, removeLeftInMemory } from './where-folders-lie.js';

export function setup(): () => void {
  removeLeftInMemory();
  return () => {
    const left = foldersOf(process.pid);
    if (left.length === 0) return;
    process.exitCode = 1;
    process.stderr.write(`${left.length} folders of test files were left: ${left.join(', ')}\n`);
  };
}
