import { stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';
import { dataFolder } from '../lib/files/data-folder.ts';
import { createDurably } from '../lib/files/durable-files.ts';
import { readIfThere } from '../lib/files/files.ts';
import { keepPrivate } from '../lib/files/private-folder.ts';
import { addPathToError } from '../lib/system-errors.ts';
import type { EnvironmentName } from '../lib/wire/names.ts';
import { WarehouseError } from './errors.ts';

/** The form is increased when an older billsync would read a new one wrongly. The warehouse has its own migrations. */
export const DATA_FOLDER_FORM = 1;

/** @throws environment-mismatch, data-folder-too-new, FolderError */
export async function claimDataFolder(dataDir: string, environment: EnvironmentName): Promise<void> {
  await keepPrivate(dataDir);
  if ((await checkDataFolderForm(dataDir)) === null)
    await createDurably(join(dataDir, FORM), `${DATA_FOLDER_FORM}\n`).catch(
      addPathToError(join(dataDir, FORM)),
    );
  const marker = join(dataDir, 'environment');
  if ((await readMarker(marker)) === null)
    await createDurably(marker, `${environment}\n`).catch(addPathToError(marker));
  const found = (await readMarker(marker)) ?? environment;
  if (found !== environment)
    throw new WarehouseError('environment-mismatch', [
      `data folder ${dataDir}`,
      found,
      environment,
      'Choose another BILLSYNC_DATA_DIR.',
    ]);
}

export async function checkDataFolderForm(dataDir: string): Promise<number | null> {
  const text = await readMarker(join(dataDir, FORM));
  if (text === null) return null;
  const found = Number(text);
  if (found > DATA_FOLDER_FORM)
    throw new WarehouseError('data-folder-too-new', [dataDir, found, DATA_FOLDER_FORM]);
  return found;
}

const FORM = 'form';

async function readMarker(marker: string): Promise<string | null> {
  return (await readIfThere(marker))?.toString().trim() ?? null;
}

export interface WarehousePaths {
  readonly database: string;
  readonly rebuilding: string;
  readonly lock: string;
  readonly published: string;
  readonly temporaryFolder: string;
  readonly readableFolders: readonly string[];
}

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
    temporaryFolder: dataFolder(dataDir).temporary,
    readableFolders: [dataDir, ...(archive.kind === 'folder' ? [archive.path] : [])],
  };
}

/** Before DuckDB writes: after a full disk during a checkpoint it cannot continue, and the process ends. @throws no-room */
export async function requireDiskSpace(database: string, needBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(database));
  const freeBytes = bavail * bsize;
  if (freeBytes < needBytes) {
    const mib = (bytes: number): string => (bytes / 1024 ** 2).toFixed(0);
    throw new WarehouseError('no-room', [dirname(database), mib(freeBytes), mib(needBytes)]);
  }
}

export async function sizeOf(database: string): Promise<number> {
  const sizes = await Promise.all(
    [database, `${database}.wal`].map((path) =>
      stat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
