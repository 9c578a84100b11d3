/** Work of the writer is requested from the running worker through Temporal, or done here with the lock when none runs. */

import { existsSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { Archive } from '../archive/archive.ts';
import { isEmptyArchive } from '../archive/verify-archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import { lockOwner } from '../lib/files/lock-file.ts';
import { refuseOpenToAll } from '../lib/files/private-folder.ts';
import { warehousePaths } from '../warehouse/data-folder.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import { CliError, EXIT } from './errors.ts';
import { onInterrupt } from './terminal/interaction.ts';

export interface WriterWork<T> {
  readonly role: string;
  readonly request: (client: Client) => Promise<T>;
  readonly makesFolder?: boolean;
  readonly begin?: () => Promise<void>;
  readonly direct: (warehouse: Warehouse, archive: Archive) => Promise<T>;
}

export async function withWriter<T>(settings: Settings, work: WriterWork<T>): Promise<T> {
  if (await workerIsRunning(settings)) {
    const { withTemporal } = await import('./with-temporal.ts');
    return withTemporal(settings, (client) => onInterrupt(WORKER_CONTINUES, () => work.request(client)));
  }
  await work.begin?.();
  const { archive, warehouse, close } = await openWriter(settings, work.role, work);
  return onInterrupt(STOPPED, () => work.direct(warehouse, archive)).finally(close);
}

/** With `isAlone` a lake too lets no other writer in. @throws warehouse-locked (exit 8) */
export async function openWriter(
  settings: Settings,
  role: string,
  {
    makesFolder = false,
    isAlone = false,
  }: { readonly makesFolder?: boolean; readonly isAlone?: boolean } = {},
) {
  if (!makesFolder) requireFolder(settings);
  await refuseOpenToAll(settings.dataDir);
  const { commandLog } = await import('./with-temporal.ts');
  const { openArchive } = await import('../archive/open-archive.ts');
  const { openWarehouse } = await import('../warehouse/open-warehouse.ts');
  const archive = await openArchive(settings);
  try {
    const warehouse = await openWarehouse({ settings, archive, log: commandLog(settings), role, isAlone });
    const close = (): Promise<void> => warehouse.close().finally(() => archive.close());
    return { archive, warehouse, close };
  } catch (error) {
    await archive.close();
    throw error;
  }
}

const WORKER_CONTINUES = 'Stopped waiting; the worker continues.';
const STOPPED = 'Stopped. Finished work is kept; run the command again for the rest.';

/** A misspelt folder must not become an empty warehouse. A lake is elsewhere. */
function requireFolder(settings: Settings): void {
  const { dataDir, warehouse } = settings;
  if (warehouse.kind === 'ducklake') return;
  if (!existsSync(dataDir)) {
    throw new CliError(EXIT.nothingMatched, `there is no data folder ${dataDir}`, {
      hint: 'check BILLSYNC_DATA_DIR; `billsync up`, `billsync worker` and `billsync import` create one',
    });
  }
  requireRecords(settings);
}

export function requireRecords(settings: Settings): void {
  const { dataDir, archive, warehouse } = settings;
  if (archive.kind !== 'folder' || warehouse.kind !== 'duckdb') return;
  // With a lock, opening the warehouse reports the process that holds it.
  if ([archive.path, warehouse.path, warehousePaths(settings).lock].some(existsSync)) return;
  throw new CliError(EXIT.nothingMatched, 'there is neither an archive nor a warehouse', {
    ...{ subject: `${archive.path}, ${warehouse.path}`, hint: restoredHint(dataDir) },
  });
}

export async function requireRecordsIn(
  archive: Archive,
  { archive: place, dataDir }: Settings,
): Promise<void> {
  if (!(await isEmptyArchive(archive))) return;
  throw new CliError(EXIT.nothingMatched, 'the archive is empty: no event, no file', {
    ...{ subject: place.kind === 's3' ? place.url : place.path, hint: restoredHint(dataDir) },
  });
}

function restoredHint(dataDir: string): string {
  return `expected only before the first delivery; restore a backup directly into BILLSYNC_DATA_DIR, now ${dataDir}`;
}

/** A command that holds the lock is not a worker; opening the warehouse reports it. */
export async function workerIsRunning(settings: Settings): Promise<boolean> {
  const owner = await lockOwner(warehousePaths(settings).lock);
  return owner !== null && ['worker', 'up', 'demo'].includes(owner.role);
}
