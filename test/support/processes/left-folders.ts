/**
 * After all tests: a folder that is still there was written to by something that outlived its test file, and fails the run. What a
 * test started that ran out of time, and so ended without ending it, would go on for ever: it is ended here.
 */

import { endProcessesIn } from './processes-in.ts';
import { foldersOf, removeLeftInMemory } from './where-folders-lie.ts';

export function setup(): () => void {
  removeLeftInMemory();
  return () => {
    const left = foldersOf(process.pid);
    if (left.length === 0) return;
    process.exitCode = 1;
    const ended = endProcessesIn(left);
    process.stderr.write(
      `${left.length} folders of test files were left: ${left.join(', ')}; ${ended} processes worked there\n`,
    );
  };
}
