/** After all tests: a folder that is still there was written to by something that outlived its test file, and fails the run. */

import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Short: sockets lie in these folders, and the path of one may have about a hundred characters. */
export function folderPrefix(runPid: number): string {
  return `bt-${runPid}-`;
}

export function setup(): () => void {
  return () => {
    const left = readdirSync(tmpdir()).filter((name) => name.startsWith(folderPrefix(process.pid)));
    if (left.length === 0) return;
    process.exitCode = 1;
    process.stderr.write(
      `${left.length} folders of test files were left in ${tmpdir()}: ${left.join(', ')}\n`,
    );
  };
}
