/** Questions to a DuckDB file that another process may hold: it is copied with its log of changes, and the copy is asked. */

import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

export type Ask = (sql: string) => Promise<readonly Readonly<Record<string, string | null>>[]>;

/** To be called when nobody writes the file. Every value is text, so that no number passes through a float. */
export async function askACopy<T>(path: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'invariants-'));
  try {
    const copy = join(folder, 'copy.duckdb');
    await copyFile(path, copy);
    await copyFile(`${path}.wal`, `${copy}.wal`).catch(() => undefined);
    const instance = await DuckDBInstance.create(copy);
    const connection = await instance.connect();
    try {
      return await work(async (sql) => {
        const reader = await connection.runAndReadAll(sql);
        return reader.getRowObjects().map(asText);
      });
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function asText(row: Readonly<Record<string, unknown>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value === null ? null : String(value)]),
  );
}
