import { openFileWarehouse } from './file-store.ts';
import type { CompletedRebuild, RebuildOptions, RebuildOutcome } from './rebuild.ts';
import { dryRunFileRebuild, rebuildFile } from './rebuild.ts';
import type { OpenWarehouseOptions } from './store.ts';
import type { Warehouse } from './warehouse.ts';

export async function openWarehouse(options: OpenWarehouseOptions): Promise<Warehouse> {
  if (options.settings.warehouse.kind === 'duckdb') return openFileWarehouse(options);
  // The PostgreSQL client is loaded for a lake only.
  return (await import('./lake/open-lake.ts')).openLake(options);
}

export async function rebuildWarehouse(options: RebuildOptions): Promise<CompletedRebuild> {
  if (options.settings.warehouse.kind === 'duckdb') return rebuildFile(options);
  return (await import('./lake/rebuild-lake.ts')).rebuildLake(options);
}

export async function dryRunRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  if (options.settings.warehouse.kind === 'duckdb') return dryRunFileRebuild(options);
  return (await import('./lake/rebuild-lake.ts')).dryRunLakeRebuild(options);
}
