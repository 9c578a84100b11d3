/** DuckDB as a writer of a lake uses it: in memory, the lake and the ledgers attached, the readers' views over them. */

import { Database } from '../duckdb/database.ts';
import type { Session } from '../duckdb/session.ts';
import { laterColumns, views } from '../duckdb/sql.ts';
import type { WarehouseError } from '../errors.ts';
import { attachLake, generationPath, type LakePlace } from './attach-lake.ts';
import { rowStatement } from './lake-statements.ts';
import type { RunStatement } from './run-statement.ts';

export interface LakeDatabaseOptions {
  readonly place: LakePlace;
  /** Further folders that SQL may read: the archive's. */
  readonly folders: readonly string[];
  readonly temporaryFolder: string;
  readonly memoryLimit: string | null;
  /** Runs while everything may still be reached: what the data folder needs from a writer. */
  readonly whenAttached?: (session: Session) => Promise<void>;
  /** DuckDB cannot go on: every later call fails. */
  readonly onFatal?: (error: WarehouseError) => void;
}

/** One for the load in progress, one for everything else: each may have a connection to PostgreSQL. */
const CONNECTIONS = 2;

/** @throws extension-missing, catalog-unreachable */
export function openLakeDatabase(options: LakeDatabaseOptions): Promise<Database> {
  const { place, folders, temporaryFolder, memoryLimit, onFatal } = options;
  return Database.open({
    path: ':memory:',
    folders: [...folders, generationPath(place)],
    temporaryFolder,
    memoryLimit,
    statements: rowStatement,
    connections: CONNECTIONS,
    ...(onFatal === undefined ? {} : { onFatal }),
    async attach(session) {
      const run: RunStatement = (statement) => session.statement(statement);
      await attachLake(run, place, { readOnly: false });
      await session.all('create-rows');
      await session.all('alter table lake.main.shipment_rows add column if not exists added_columns varchar');
      for (const column of laterColumns('lake.main.shipment_rows')) await session.statement(column);
      for (const view of viewScripts()) await session.script(view);
      await options.whenAttached?.(session);
    },
  });
}

/** The readers' views, the same as over a single file, on base tables that lie in the lake. */
export function viewScripts(): readonly string[] {
  return [rowStatement('base-views'), ...views().scripts, rowStatement('publication-view')];
}
