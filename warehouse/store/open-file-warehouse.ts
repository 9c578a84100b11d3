/**
 * Opens the warehouse for its one writer: lock, environment, schema, and whatever a crash left undone.
 *
 * Opening reads on in the archive, so a warehouse that is behind (an older copy, a deleted file) catches up by itself;
 * `rebuild` is the same on an empty file.
 */

import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { sweepLeftBehind } from '../../lib/files/files.ts';
import { isAlive } from '../../lib/processes.ts';
import { claimDataFolder } from '../data-folder.ts';
import { RESERVED_BYTES } from '../disk-space.ts';
import { Database, removeDatabase } from '../duckdb/database.ts';
import { lockWarehouse } from '../duckdb/lock-file.ts';
import { migrate } from '../duckdb/migrate.ts';
import { measureBatches } from '../load/load-batch.ts';
import type { OpenWarehouseOptions } from '../opening.ts';
import { warehousePaths } from '../paths.ts';
import { catchUp } from '../recover/catch-up.ts';
import type { Warehouse } from '../warehouse.ts';
import { FileStore } from './file-store.ts';
import { LedgerWarehouse } from './ledger-warehouse.ts';

/** @throws WarehouseLockedError, EnvironmentMismatchError, WarehouseCorruptError, WarehouseTooNewError */
export async function openFileWarehouse(options: OpenWarehouseOptions): Promise<Warehouse> {
  const { settings, archive, log } = options;
  const now = options.now ?? (() => new Date());
  const paths = warehousePaths(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  await mkdir(dirname(paths.database), { recursive: true, mode: 0o700 });
  await mkdir(paths.temporaryFolder, { recursive: true, mode: 0o700 });
  const lock = await lockWarehouse(paths.lock, {
    role: options.role ?? 'worker',
    now: now(),
    patienceMs: options.lockPatienceMs ?? 0,
  });
  let database: Database | undefined;
  try {
    await sweepDrafts(paths.published);
    // Whoever rebuilds has the lock: what lies there a dead rebuild left.
    await removeDatabase(paths.rebuilding);
    await sweepLeftBehind(paths.temporaryFolder);
    database = await Database.open({
      path: paths.database,
      folders: paths.readableFolders,
      temporaryFolder: paths.temporaryFolder,
      memoryLimit: settings.warehouseMemoryLimit,
      onFatal(error) {
        log.fatal({ err: error }, 'the warehouse cannot go on');
        options.onFatal?.(error);
      },
    });
    await chmod(paths.database, 0o600);
    await migrate(database, now());
    const caughtUp = await catchUp({
      database,
      archive,
      log,
      now: now(),
      onSetAside: options.onSetAside,
      ...(options.onCatchUp === undefined ? {} : { onProgress: options.onCatchUp }),
    });
    const reservedBytes = options.reservedBytes ?? RESERVED_BYTES;
    const { lastLoadId } = caughtUp;
    const loading = { onBatch: measureBatches(options.metrics), lingerMs: options.lingerMs ?? 0 };
    const parts = { database, archive, now, paths, lock, lastLoadId, reservedBytes, ...loading };
    return new LedgerWarehouse(new FileStore(parts), options);
  } catch (error) {
    database?.close();
    await lock.release();
    throw error;
  }
}

/** Copies that a dead process did not finish, and what its reports spilled. */
async function sweepDrafts(publishedPath: string): Promise<void> {
  const folder = dirname(publishedPath);
  const name = new RegExp(
    `^${basename(publishedPath).replaceAll('.', '\\.')}\\.(\\d+)(?:\\.tmp|-\\d+\\.spill)$`,
  );
  for (const entry of await readdir(folder)) {
    const pid = Number(name.exec(entry)?.[1] ?? Number.NaN);
    if (Number.isInteger(pid) && (pid === process.pid || !isAlive(pid))) {
      await rm(join(folder, entry), { force: true, recursive: true });
    }
  }
}
