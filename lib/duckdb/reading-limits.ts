/** How much a process that reads the published file takes: a large report is slower for it and does not fail. */

import { totalmem } from 'node:os';

const MEMORY_LIMIT_MB = 1_500;
let spillFolders = 0;

/**
 * Options of a DuckDB instance over a file that is only read. What needs more memory is spilled to a folder beside the file, made
 * when it is needed, of this reader alone: two that spill to one folder would read each other's. Less memory where there is
 * less: DuckDB's own share of what this process may have.
 */
export function readingLimits(path: string): {
  readonly memory_limit: string;
  readonly temp_directory: string;
} {
  const constrained = process.constrainedMemory();
  const had = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const limit = Math.min(MEMORY_LIMIT_MB, Math.floor((had / 1_000_000) * 0.8));
  spillFolders += 1;
  return { memory_limit: `${limit}MB`, temp_directory: `${path}.${process.pid}-${spillFolders}.spill` };
}
