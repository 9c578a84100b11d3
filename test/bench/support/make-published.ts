/** Makes a published file of any size out of the warehouse's own migrations, the same for the same number of shipments. */

import { readFile, rm } from 'node:fs/promises';
import { DuckDBInstance } from '@duckdb/node-api';
import { Database } from '../../../warehouse/duckdb/database.ts';
import { migrate } from '../../../warehouse/duckdb/schema.ts';

export interface PublishedSize {
  readonly path: string;
  readonly folder: string;
  /** At tenant level; the partner's own four weeks come on top. */
  readonly shipments: number;
}

export function makePublished({ path, folder, shipments }: PublishedSize): Promise<void> {
  return fillWarehouse({ path, folder }, { statements: 'many-shipments.sql', variables: { shipments } });
}

export async function fillWarehouse(
  { path, folder }: Pick<PublishedSize, 'path' | 'folder'>,
  filling: { readonly statements: string; readonly variables: Readonly<Record<string, number>> },
): Promise<void> {
  await rm(path, { force: true });
  const options = { path, folders: [folder], temporaryFolder: folder, memoryLimit: null };
  const database = await Database.open(options);
  await migrate(database, new Date('2026-07-05T00:00:00Z'));
  database.close();
  const instance = await DuckDBInstance.create(path, { temp_directory: folder });
  const connection = await instance.connect();
  try {
    await connection.run("set search_path = 'main,internal'");
    for (const [name, value] of Object.entries(filling.variables)) {
      await connection.run(`set variable ${name} = $value`, { value });
    }
    const text = await readFile(new URL(filling.statements, import.meta.url), 'utf8');
    const statements = await connection.extractStatements(text);
    for (let index = 0; index < statements.count; index += 1) await (await statements.prepare(index)).run();
    await connection.run('checkpoint');
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
