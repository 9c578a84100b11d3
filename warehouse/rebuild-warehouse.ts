/** Makes the warehouse that the settings name again from the archive alone: a DuckDB file, or a lake. */

import type { CompletedRebuild, RebuildOptions, RebuildOutcome } from './opening.ts';
import { dryRunFileRebuild, rebuildFile } from './recover/rebuild.ts';

/** @throws WarehouseLockedError a worker has the warehouse, stop it first; RebuildLossError it would hold less */
export async function rebuildWarehouse(options: RebuildOptions): Promise<CompletedRebuild> {
  if (options.settings.warehouse.kind === 'duckdb') return rebuildFile(options);
  return (await import('./lake/rebuild-lake.ts')).rebuildLake(options);
}

/** Makes all of it, to say what a rebuild would make and lose; replaces nothing. @throws WarehouseLockedError */
export async function dryRunRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  if (options.settings.warehouse.kind === 'duckdb') return dryRunFileRebuild(options);
  return (await import('./lake/rebuild-lake.ts')).dryRunLakeRebuild(options);
}
