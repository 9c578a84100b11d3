/** The columns that readers of `reports.duckdb` see, as an empty warehouse has them. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Database } from '../../warehouse/duckdb/database.ts';
import { migrate } from '../../warehouse/duckdb/schema.ts';

/** In the order in which a reader needs them. */
export const VIEWS = [
  ...['shipments', 'tenant_shipments', 'invoices', 'invoice_amounts', 'tenants', 'partners', 'carriers'],
  ...['events', 'files', 'discrepancies', 'publication', 'shipment_versions', 'level_cross_check'],
];

export interface ViewColumn {
  readonly view: string;
  readonly name: string;
  readonly type: string;
}

/** Each column of each view, with its type as DuckDB has it. */
export async function readColumns(): Promise<readonly ViewColumn[]> {
  const folder = await mkdtemp(join(tmpdir(), 'billsync-reference-'));
  const path = join(folder, 'empty.duckdb');
  try {
    const database = await Database.open({
      path,
      folders: [folder],
      temporaryFolder: folder,
      memoryLimit: null,
    });
    await migrate(database, new Date(0));
    database.close();
    const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll(
      await readFile(new URL('./view-columns.sql', import.meta.url), 'utf8'),
    );
    connection.closeSync();
    instance.closeSync();
    return reader.getRowObjectsJson() as unknown as readonly ViewColumn[];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
