/**
 * The lake behind a published file. Over a lake the file has views and no rows, and readers attach the lake first. Readers know only the
 * path; processes with settings register the lake of that path here.
 */

import { existsSync } from 'node:fs';
import { refuseLeftWal } from '../../lib/files/published-file.ts';
import { Database } from '../duckdb/database.ts';
import { isWarehouseError } from '../errors.ts';
import type { RunStatement } from './attach-lake.ts';
import type { LakeSettings } from './catalog-address.ts';

const lakes = new Map<string, LakeSettings>();

/** Registers the lake of the published file at `path` for this process. */
export function lakeSourceOf(path: string, lake: LakeSettings): void {
  lakes.set(path, lake);
}

/** Whether there is a warehouse to read; for a lake the file of views is written when this machine has none. */
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

/** Attaches the lake of the file for reading, if it has one. */
export async function attachBehind(path: string, run: RunStatement): Promise<void> {
  const lake = lakes.get(path);
  if (lake === undefined) return;
  const { attachForReading } = await import('./lake-reader.ts');
  await attachForReading(lake, run);
}

/** The statements that DuckDB's shell needs before it reads the file; empty for a file with rows. */
export async function shellStatementsFor(
  path: string,
  shellVersion: () => Promise<string>,
): Promise<readonly string[]> {
  const lake = lakes.get(path);
  if (lake === undefined) return [];
  const { shellStatements } = await import('./lake-reader.ts');
  return shellStatements(lake, await shellVersion());
}

/** Opens a published file for this process. @throws UnreadableFileError, catalog-unreachable */
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
