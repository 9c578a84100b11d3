/**
 * Makes the warehouse again from the archive alone, and puts it in place of the old one.
 *
 * It is opening an empty file: events and facts go the way they always go, and every load that the archive tells of is
 * repeated with its own instant and version, so reports answer byte for byte what they answered before. The old file
 * is never opened and never deleted: it is moved aside, since it may be damaged and somebody may want to look at it.
 */

import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Archive } from '../archive/archive.js';
import type { Logger } from '../ops/log.js';
import { type CatchUpProgress, catchUp } from './catch-up.js';
import { claimDataFolder } from './data-folder.js';
import { Database } from './database.js';
import { takeLock } from './lock-file.js';
import { migrate } from './migrate.js';
import type { OpenWarehouseOptions } from './open-warehouse.js';
import { warehousePaths } from './paths.js';
import { publish } from './publish.js';
import type { Publication } from './warehouse.js';

export interface RebuildOptions {
  readonly settings: OpenWarehouseOptions['settings'];
  readonly archive: Archive;
  readonly log: Logger;
  readonly now?: () => Date;
  readonly onProgress?: (progress: CatchUpProgress) => void;
}

export interface Rebuilt {
  readonly events: number;
  readonly loads: number;
  readonly publication: Publication;
  /** Where the old warehouse lies now; null when there was none. */
  readonly movedAside: string | null;
}

/** @throws WarehouseLockedError a worker has the warehouse; stop it first */
export async function rebuildWarehouse(options: RebuildOptions): Promise<Rebuilt> {
  const { settings, archive, log, onProgress } = options;
  if (settings.warehouse.kind === 'ducklake') {
    return (await import('./lake/rebuild-lake.js')).rebuildLake(options);
  }
  const now = options.now ?? (() => new Date());
  const paths = warehousePaths(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  await mkdir(paths.temporaryFolder, { recursive: true, mode: 0o700 });
  const lock = await takeLock(paths.lock, { role: 'rebuild', now: now() });
  const draft = `${paths.database}.rebuilding`;
  try {
    await removeDatabase(draft);
    const common = { folders: paths.readableFolders, temporaryFolder: paths.temporaryFolder };
    const rebuilding = await Database.open({
      ...common,
      path: draft,
      memoryLimit: settings.warehouseMemoryLimit,
    });
    let caughtUp: Awaited<ReturnType<typeof catchUp>>;
    try {
      await migrate(rebuilding, now());
      await continueSequence(rebuilding, paths.published, paths.temporaryFolder, log);
      caughtUp = await catchUp({
        database: rebuilding,
        archive,
        log,
        ...(onProgress === undefined ? {} : { onProgress }),
      });
      await rebuilding.use((session) => session.checkpoint());
    } finally {
      rebuilding.close();
    }
    const movedAside = await swap({ draft, database: paths.database, at: now() });
    const database = await Database.open({
      ...common,
      path: paths.database,
      memoryLimit: settings.warehouseMemoryLimit,
    });
    try {
      const publication = await publish({
        database,
        publishedPath: paths.published,
        temporaryFolder: paths.temporaryFolder,
        now: now(),
        alone: (work) => work(),
      });
      return { events: caughtUp.events, loads: caughtUp.loadsRepeated, publication, movedAside };
    } finally {
      database.close();
    }
  } finally {
    await removeDatabase(draft);
    await lock.release();
  }
}

/** Readers count publications; a rebuilt warehouse goes on where the old one stopped, if its copy can still be read. */
async function continueSequence(
  database: Database,
  publishedPath: string,
  temporaryFolder: string,
  log: Logger,
): Promise<void> {
  if (!(await isThere(publishedPath))) return;
  try {
    const published = await Database.open({
      path: publishedPath,
      folders: [],
      temporaryFolder,
      memoryLimit: null,
      readOnly: true,
    });
    try {
      const [last] = await published.all('last-publication');
      if (last === undefined) return;
      await database.use((session) =>
        session.all('seed-publication', {
          sequence: Number(last.sequence),
          published_at: String(last.published_at),
        }),
      );
    } finally {
      published.close();
    }
  } catch (error) {
    log.warn(
      { err: error },
      'the published copy cannot be read, publications are counted on from the copies that are kept',
    );
  }
}

/** A crash between the two renames leaves no warehouse: the next start makes it again from the archive by itself. */
async function swap({
  draft,
  database,
  at,
}: {
  readonly draft: string;
  readonly database: string;
  readonly at: Date;
}): Promise<string | null> {
  let movedAside: string | null = null;
  if (await isThere(database)) {
    const folder = join(dirname(database), 'aside');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    movedAside = join(folder, `${at.toISOString().replaceAll(':', '-')}-${basename(database)}`);
    if (await isThere(`${database}.wal`)) await rename(`${database}.wal`, `${movedAside}.wal`);
    await rename(database, movedAside);
  } else {
    await rm(`${database}.wal`, { force: true });
  }
  await rename(draft, database);
  const folder = await open(dirname(database), constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return movedAside;
}

async function removeDatabase(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(`${path}.wal`, { force: true });
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
