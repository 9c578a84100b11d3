/** Opens the warehouse that the settings name, for its one writer: a DuckDB file, or a lake. */

import { openFileWarehouse } from './file-store.ts';
import { dryRunFileRebuild, rebuildFile } from './rebuild.ts';
import type {
  CompletedRebuild,
  OpenWarehouseOptions,
  RebuildOptions,
  RebuildOutcome,
  Warehouse,
} from './warehouse.ts';

/** @throws warehouse-locked, environment-mismatch, warehouse-corrupt, warehouse-too-new */
export async function openWarehouse(options: OpenWarehouseOptions): Promise<Warehouse> {
  if (options.settings.warehouse.kind === 'duckdb') return openFileWarehouse(options);
  // Only who has a lake waits for its client to be read.
  return (await import('./lake/open-lake.ts')).openLake(options);
}

/* Makes the warehouse that the settings name again from the archive alone: a DuckDB file, or a lake. */

/** @throws warehouse-locked a worker has the warehouse, stop it first; RebuildLossError it would hold less */
export async function rebuildWarehouse(options: RebuildOptions): Promise<CompletedRebuild> {
  if (options.settings.warehouse.kind === 'duckdb') return rebuildFile(options);
  return (await import('./lake/rebuild-lake.ts')).rebuildLake(options);
}

/** Makes all of it, to say what a rebuild would make and lose; replaces nothing. @throws warehouse-locked */
export async function dryRunRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  if (options.settings.warehouse.kind === 'duckdb') return dryRunFileRebuild(options);
  return (await import('./lake/rebuild-lake.ts')).dryRunLakeRebuild(options);
}
