/** Where the warehouse's files lie; one place, because the lock, the published copy and the sweeps must agree. */

import { basename, dirname, join } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';

export interface WarehousePaths {
  readonly database: string;
  /** A rebuild's, until it takes the place of the other. */
  readonly rebuilding: string;
  readonly lock: string;
  /** What analysts open. */
  readonly published: string;
  readonly temporaryFolder: string;
  /** Folders whose files SQL may read: the archive's CSVs, wherever they lie. */
  readonly readableFolders: readonly string[];
}

/** Absolute paths; nothing is made. */
export function warehousePaths(
  settings: Pick<Settings, 'dataDir' | 'warehouse' | 'archive'>,
): WarehousePaths {
  const { dataDir, warehouse, archive } = settings;
  const database = warehouse.kind === 'duckdb' ? warehouse.path : join(dataDir, 'warehouse.duckdb');
  return {
    database,
    rebuilding: `${database}.rebuilding`,
    lock: join(dirname(database), `${basename(database).replace(/\.duckdb$/, '')}.lock`),
    published: join(dataDir, 'reports.duckdb'),
    temporaryFolder: join(dataDir, 'tmp'),
    readableFolders: [dataDir, ...(archive.kind === 'folder' ? [archive.path] : [])],
  };
}
