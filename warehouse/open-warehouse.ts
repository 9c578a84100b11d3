/** Opens the warehouse that the settings name, for its one writer: a DuckDB file, or a lake. */

import type { OpenWarehouseOptions } from './opening.ts';
import { openFileWarehouse } from './store/open-file-warehouse.ts';
import type { Warehouse } from './warehouse.ts';

/** @throws WarehouseLockedError, EnvironmentMismatchError, WarehouseCorruptError, WarehouseTooNewError */
export async function openWarehouse(options: OpenWarehouseOptions): Promise<Warehouse> {
  if (options.settings.warehouse.kind === 'duckdb') return openFileWarehouse(options);
  // Only who has a lake waits for its client to be read.
  return (await import('./lake/open-lake.ts')).openLake(options);
}
