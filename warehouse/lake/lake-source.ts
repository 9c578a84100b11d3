/** Readers know only the path of a published file; processes with settings register the lake of that path here. */

import { existsSync } from 'node:fs';
import { refuseLeftWal } from '../../lib/files/damaged-database.ts';
import { Database } from '../duckdb/database.ts';
import { isWarehouseError } from '../errors.ts';
import type { RunStatement } from './attach-lake.ts';
import type { LakeSettings } from './catalog-address.ts';

const lakes = new Map<string, LakeSettings>();

export function lakeSourceOf(path: string, lake: LakeSettings): void {
  lakes.set(path, lake);
}

export async function isPublished(path: string): Promise<boolean> {
  const lake = lakes.get(path);
  if (lake === undefined || existsSync(path)) return existsSync(path);
  const { makePointerFile, placeOf } = await import('./lake-reader.ts');
  try {
    await makePointerFile(path, await placeOf(lake));
    return true;
  } catch (error) {
    if (isWarehouseError(error, 'no-lake-yet')) return false;
    throw error;
  }
}

export async function attachBehind(path: string, run: RunStatement): Promise<void> {
  const lake = lakes.get(path);
  if (lake === undefined) return;
  const { attachForReading } = await import('./lake-reader.ts');
  await attachForReading(lake, run);
}

/** Returns the statements that attach a lake; none for a file with rows. */
export async function shellStatementsFor(
  path: string,
  shellVersion: () => Promise<string>,
): Promise<readonly string[]> {
  const lake = lakes.get(path);
  if (lake === undefined) return [];
  const { shellStatements } = await import('./lake-reader.ts');
  return shellStatements(lake, await shellVersion());
}

/** @throws UnreadableFileError, catalog-unreachable */
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
