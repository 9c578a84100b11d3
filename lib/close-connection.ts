/** Closes a DuckDB connection that may be inside a transaction. */

import type { DuckDBConnection } from '@duckdb/node-api';

/**
 * DuckDB's destructor would roll back what is open in an attached database, and an error there (PostgreSQL was restarted)
 * ends the process. The error of a statement can be caught.
 */
export async function rollBackAndClose(connection: DuckDBConnection): Promise<void> {
  // Outside a transaction it is refused, which is as good.
  await connection.run('rollback').catch(() => undefined);
  connection.closeSync();
}
