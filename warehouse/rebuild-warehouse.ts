/** Makes the warehouse that the settings name again from the archive alone: a DuckDB file, or a lake. */

import type { Made, RebuildOptions, Rebuilt } from './opening.ts';
import { rebuildFile, rehearseFile } from './recover/rebuild.ts';

/** @throws WarehouseLockedError a worker has the warehouse, stop it first; RebuildLossError it would hold less */
export async function rebuildWarehouse(options: RebuildOptions): Promise<Rebuilt> {
  if (options.settings.warehouse.kind === 'duckdb') return rebuildFile(options);
  return (await import('./lake/rebuild-lake.ts')).rebuildLake(options);
}

/** Makes all of it, to say what a rebuild would make and lose; replaces nothing. @throws WarehouseLockedError */
export async function rehearseRebuild(options: RebuildOptions): Promise<Made> {
  if (options.settings.warehouse.kind === 'duckdb') return rehearseFile(options);
  return (await import('./lake/rebuild-lake.ts')).rehearseLake(options);
}
