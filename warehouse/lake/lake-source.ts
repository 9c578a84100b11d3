/**
 * What stands behind a published file that holds no rows: over a lake it is a file of views, and whoever opens it
 * attaches the lake first. Readers know a path; who has the settings says here what it takes.
 */

import { existsSync } from 'node:fs';
import type { Settings } from '../../lib/config/settings.ts';
import { refuseLeftWal } from '../../lib/files/published-file.ts';
import { Database } from '../duckdb/database.ts';
import { isWarehouseError } from '../errors.ts';
import type { RunStatement } from './run-statement.ts';

export type LakeSettings = Extract<Settings['warehouse'], { readonly kind: 'ducklake' }>;

const lakes = new Map<string, LakeSettings>();

/** From now on this process reads the file at `path` with the lake attached. */
export function lakeSourceOf(path: string, lake: LakeSettings): void {
  lakes.set(path, lake);
}

/** Whether there is something to read; over a lake the file is made where this machine has none. */
export async function isPublished(path: string): Promise<boolean> {
  const lake = lakes.get(path);
  if (lake === undefined || existsSync(path)) return existsSync(path);
  const { makePointerFile, placeOf } = await import('./lake-reader.ts');
  try {
    await makePointerFile(path, { ...(await placeOf(lake)), dataPath: lake.dataPath });
    return true;
  } catch (error) {
    if (isWarehouseError(error, 'no-lake-yet')) return false;
    throw error;
  }
}

/** Attaches what stands behind the file, for reading; nothing when it holds its rows itself. */
export async function attachBehind(path: string, run: RunStatement): Promise<void> {
  const lake = lakes.get(path);
  if (lake === undefined) return;
  const { attachForReading } = await import('./lake-reader.ts');
  await attachForReading(lake, run);
}

/** What DuckDB's own shell runs first to read the file at `path`: nothing when it holds its rows itself. */
export async function shellStatementsFor(
  path: string,
  shellVersion: () => Promise<string>,
): Promise<readonly string[]> {
  const lake = lakes.get(path);
  if (lake === undefined) return [];
  const { shellStatements } = await import('./shell-statements.ts');
  return shellStatements(lake, await shellVersion());
}

/** A published file for this process alone. @throws LeftWalError, DamagedFileError, catalog-unreachable */
export async function openForReading(path: string, temporaryFolder: string): Promise<Database> {
  await refuseLeftWal(path);
  const lake = lakes.get(path);
  return Database.open({
    path,
    folders: lake === undefined ? [] : [lake.dataPath],
    temporaryFolder,
    memoryLimit: null,
    readOnly: true,
    ...(lake === undefined
      ? {}
      : { attach: (session) => attachBehind(path, (statement) => session.script(statement)) }),
  });
}
