/**
 * Makes the warehouse again from the archive alone, and puts it in place of the old one.
 *
 * It is opening an empty file: events and facts go the way they always go, and every load that the archive tells of is
 * repeated with its own instant and version, so reports answer byte for byte what they answered before. The old file is
 * read, when it can be, for what must not get lost: an archive that is damaged, or the wrong one, makes less, and less
 * takes nobody's place unasked. It is never deleted but moved aside: it may be damaged and somebody may want to see it.
 * A rebuild that was killed is gone on with by the next (`draft.ts`); one that failed is begun anew.
 */

import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { refuseLeftWal } from '../../lib/files/published-file.ts';
import type { Logger } from '../../lib/log/log.ts';
import { claimDataFolder } from '../data-folder.ts';
import { Database, removeDatabase } from '../duckdb/database.ts';
import { lockWarehouse } from '../duckdb/lock-file.ts';
import { RebuildLossError, WarehouseLockedError } from '../errors.ts';
import { findLacking, type HeldRecord } from '../ledger/archive-diff.ts';
import type { CompletedRebuild, RebuildOptions, RebuildOutcome } from '../opening.ts';
import { type WarehousePaths, warehousePaths } from '../paths.ts';
import { publish } from '../publish/publish.ts';
import { catchUp, recordMissingFacts } from './catch-up.ts';
import { openPartialRebuild } from './draft.ts';
import { findLosses } from './missing-from-rebuild.ts';

/** @throws WarehouseLockedError a worker has the warehouse, stop it first; RebuildLossError it would hold less */
export async function rebuildFile(options: RebuildOptions): Promise<CompletedRebuild> {
  const { acceptLoss = false } = options;
  const now = options.now ?? (() => new Date());
  return makeDraft(options, async (made, paths) => {
    if (made.holdsLess && !acceptLoss) throw new RebuildLossError(paths.database, made);
    const movedAside = await swap({ draft: paths.rebuilding, database: paths.database, at: now() });
    const database = await openDatabase(options, paths.database);
    try {
      const publication = await publish({
        database,
        publishedPath: paths.published,
        temporaryFolder: paths.temporaryFolder,
        now: now(),
        alone: (work) => work(),
      });
      return { ...made, publication, movedAside };
    } finally {
      database.close();
    }
  });
}

/** Makes all of it, to say what a rebuild would make and lose; replaces nothing. @throws WarehouseLockedError */
export async function dryRunFileRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  return makeDraft(options, async (made) => made);
}

/** With the lock in hand until `use` has ended; the draft is gone afterwards, unless the process was killed. */
async function makeDraft<T>(
  options: RebuildOptions,
  use: (made: RebuildOutcome, paths: WarehousePaths) => Promise<T>,
): Promise<T> {
  const { settings } = options;
  const now = options.now ?? (() => new Date());
  const paths = warehousePaths(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  await mkdir(paths.temporaryFolder, { recursive: true, mode: 0o700 });
  const lock = await lockWarehouse(paths.lock, { role: 'rebuild', now: now() });
  try {
    const isBefore = await isReplacing(options, paths);
    return await use(await fillDraft(options, { paths, isBefore, now: now() }), paths);
  } finally {
    await removeDatabase(paths.rebuilding);
    await lock.release();
  }
}

async function fillDraft(
  options: RebuildOptions,
  {
    paths,
    isBefore,
    now,
  }: { readonly paths: WarehousePaths; readonly isBefore: boolean; readonly now: Date },
): Promise<RebuildOutcome> {
  const { archive, log, onProgress } = options;
  const open = () => openDatabase(options, paths.rebuilding);
  const { database: draft, done } = await openPartialRebuild(options, { path: paths.rebuilding, open, now });
  try {
    await draft.all('delete-publications');
    await continueSequence(draft, paths.published, paths.temporaryFolder, log);
    const progress = onProgress === undefined ? {} : { onProgress };
    const { events, loadsRepeated, losses, purged } = await catchUp({
      database: draft,
      archive,
      log,
      now,
      ...progress,
    });
    const { lacking, isReplaced } = await compare(options, { paths, isBefore, draft });
    const found = findLosses(losses, { lacking, purged });
    const [counted] = await draft.all('count-made');
    await draft.all('finish-partial-rebuild');
    await draft.use((session) => session.checkpoint());
    return {
      ...{ events: events + (done?.events ?? 0), loads: loadsRepeated + (done?.loads ?? 0) },
      ...{ invoices: Number(counted?.invoices), shipments: Number(counted?.shipments) },
      ...(done === null ? {} : { loadsBefore: done.loads }),
      losses: found.losses,
      holdsLess: isReplaced && found.holdsLess,
      ...(purged.length === 0 ? {} : { purgedLoads: purged.length }),
    };
  } finally {
    draft.close();
  }
}

/** Whether there is a warehouse that can be read. The copy that readers have keeps nobody from making one. */
async function isReplacing(options: RebuildOptions, paths: WarehousePaths): Promise<boolean> {
  const { archive, log } = options;
  const recent = await ofOld(options, paths.database, (old) => old.all('loads-since'));
  if (recent === null) return false;
  // As opening does: what a crash kept from the archive is in the warehouse alone.
  await recordMissingFacts(recent, archive, log);
  return true;
}

/** What the draft lacks. A warehouse that turns out to be damaged is none; its copy for readers tells then what it held. */
async function compare(
  options: RebuildOptions,
  {
    paths,
    isBefore,
    draft,
  }: { readonly paths: WarehousePaths; readonly isBefore: boolean; readonly draft: Database },
): Promise<{ readonly lacking: readonly HeldRecord[]; readonly isReplaced: boolean }> {
  const lackingFromOld = (path: string) =>
    ofOld(options, path, (held) => findLacking({ held, there: draft }));
  const lacking = isBefore ? await lackingFromOld(paths.database) : null;
  if (lacking !== null) return { lacking, isReplaced: true };
  return { lacking: (await lackingFromOld(paths.published)) ?? [], isReplaced: false };
}

/** null when it is not there, or cannot be read. @throws what `use` throws of its own */
async function ofOld<T>(
  options: RebuildOptions,
  path: string,
  use: (old: Pick<Database, 'all'>) => Promise<T>,
): Promise<T | null> {
  if (!(await isThere(path))) return null;
  let own: unknown = null;
  let old: Database | null = null;
  try {
    old = await openDatabase(options, path, { readOnly: true }).catch((error: unknown) => {
      own = error;
      throw error;
    });
    const asked = old;
    return await use({
      all: (name, params) =>
        asked.all(name, params).catch((error: unknown) => {
          own = error;
          throw error;
        }),
    });
  } catch (error) {
    if (error instanceof WarehouseLockedError || error !== own) throw error;
    options.log.warn({ err: error, path }, 'what is there cannot be read, nothing can be compared with it');
    return null;
  } finally {
    old?.close();
  }
}

function openDatabase(
  { settings }: RebuildOptions,
  path: string,
  more: { readonly readOnly?: boolean } = {},
): Promise<Database> {
  const { readableFolders: folders, temporaryFolder } = warehousePaths(settings);
  return Database.open({
    path,
    folders,
    temporaryFolder,
    memoryLimit: settings.warehouseMemoryLimit,
    ...more,
  });
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
    await refuseLeftWal(publishedPath);
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

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
