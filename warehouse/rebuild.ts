/**
 * Rebuilds the warehouse from the archive into a new file, which then replaces the old one.
 *
 * A rebuild is catching up with an empty file: every load is repeated with its own time and version, so that reports have
 * the same bytes as before. The new file is compared with the old one, if that is readable: with a damaged or wrong archive
 * it contains less, and does not replace it unless accepted. The old file is moved aside, not deleted.
 *
 * A rebuild that was killed is resumed by the next one, since every transaction leaves a warehouse that can catch up. It starts
 * again if the result could differ: another version or archive, all loads repeated, a record set aside (it may be repaired
 * now), or a purged file of which it has rows.
 */

import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Archive } from '../archive/archive.ts';
import { readRetention } from '../archive/retention.ts';
import { asideFolder } from '../lib/files/data-folder.ts';
import { exists } from '../lib/files/durable-files.ts';
import { refuseLeftWal } from '../lib/files/published-file.ts';
import type { Logger } from '../lib/log/log.ts';
import { version } from '../lib/runtime.ts';
import type { Publication } from '../lib/wire/warehouse-requests.ts';
import type { CatchUpProgress, LostRecord } from './catch-up.ts';
import { catchUp, recordMissingFacts } from './catch-up.ts';
import { claimDataFolder, type WarehousePaths, warehousePaths } from './data-folder.ts';
import { Database, removeDatabase } from './duckdb/database.ts';
import { lockWarehouse } from './duckdb/locks.ts';
import { migrate } from './duckdb/schema.ts';
import { schemaNumber, views } from './duckdb/sql.ts';
import type { Ledgers } from './duckdb/statements.ts';
import { isWarehouseError, WarehouseError } from './errors.ts';
import { findLacking, type HeldRecord, lackingFacts } from './ledger/archive-diff.ts';
import type { LoadFact } from './ledger/ingest.ts';
import { publish } from './publish.ts';
import type { OpenWarehouseOptions } from './store.ts';

export interface RebuildOptions {
  readonly settings: OpenWarehouseOptions['settings'];
  readonly archive: Archive;
  readonly log: Logger;
  readonly now?: () => Date;
  readonly onProgress?: (progress: CatchUpProgress) => void;
  /** Replaces the warehouse even if the new one contains less. */
  readonly acceptLoss?: boolean;
}

export interface RebuildOutcome {
  readonly events: number;
  readonly loads: number;
  readonly invoices: number;
  /** In totals. */
  readonly shipments: number;
  readonly losses: readonly LostRecord[];
  /** Whether it contains less than the warehouse that it would replace, as far as that is readable. */
  readonly holdsLess: boolean;
  /** Loads that were left out because their file was purged (ADR 20); missing: none. */
  readonly purgedLoads?: number;
  /** Loads that an interrupted rebuild had made; missing: no rebuild was resumed. */
  readonly loadsBefore?: number;
}

export interface CompletedRebuild extends RebuildOutcome {
  readonly publication: Publication;
  /** The path of the previous warehouse; null: there was none. */
  readonly movedAside: string | null;
}

/** Carries what the rebuild made and what would be lost. */
export class RebuildLossError extends WarehouseError {
  readonly outcome: RebuildOutcome;

  constructor(path: string, outcome: RebuildOutcome) {
    super('rebuild-loses', [path]);
    this.outcome = outcome;
  }
}

/** @throws warehouse-locked; RebuildLossError it would contain less */
export async function rebuildFile(options: RebuildOptions): Promise<CompletedRebuild> {
  const { acceptLoss = false } = options;
  const now = options.now ?? (() => new Date());
  return buildNew(options, async (made, paths) => {
    if (made.holdsLess && !acceptLoss) throw new RebuildLossError(paths.database, made);
    const movedAside = await swap({ next: paths.rebuilding, database: paths.database, at: now() });
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

/** Rebuilds without replacing the warehouse. @throws warehouse-locked */
export async function dryRunFileRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  return buildNew(options, async (made) => made);
}

/** Holds the lock until `use` has ended, and removes the new file unless `use` moved it. */
async function buildNew<T>(
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
    return await use(await fillNew(options, { paths, isBefore, now: now() }), paths);
  } finally {
    await removeDatabase(paths.rebuilding);
    await lock.release();
  }
}

async function fillNew(
  options: RebuildOptions,
  {
    paths,
    isBefore,
    now,
  }: { readonly paths: WarehousePaths; readonly isBefore: boolean; readonly now: Date },
): Promise<RebuildOutcome> {
  const { archive, log, onProgress } = options;
  const open = () => openDatabase(options, paths.rebuilding);
  const { database: next, done } = await openPartialRebuild(options, { path: paths.rebuilding, open, now });
  try {
    await next.all('delete-publications');
    await continueSequence(next, paths.published, paths.temporaryFolder, log);
    const progress = onProgress === undefined ? {} : { onProgress };
    const { events, loadsRepeated, losses, purged } = await catchUp({
      database: next,
      archive,
      log,
      now,
      ...progress,
    });
    const { lacking, isReplaced } = await compare(options, { paths, isBefore, next });
    const found = findLosses(losses, { lacking, purged });
    const [counted] = await next.all('count-made');
    await next.all('finish-partial-rebuild');
    await next.use((session) => session.checkpoint());
    return {
      ...{ events: events + (done?.events ?? 0), loads: loadsRepeated + (done?.loads ?? 0) },
      ...{ invoices: Number(counted?.invoices), shipments: Number(counted?.shipments) },
      ...(done === null ? {} : { loadsBefore: done.loads }),
      losses: found.losses,
      holdsLess: isReplaced && found.holdsLess,
      ...(purged.length === 0 ? {} : { purgedLoads: purged.length }),
    };
  } finally {
    next.close();
  }
}

/** Whether there is a readable warehouse. */
async function isReplacing(options: RebuildOptions, paths: WarehousePaths): Promise<boolean> {
  const { archive, log } = options;
  const recent = await ofOld(options, paths.database, (old) => old.all('loads-since'));
  if (recent === null) return false;
  // As when opening: facts that a crash prevented are in the warehouse only.
  await recordMissingFacts(recent, archive, log);
  return true;
}

/** The records that the new file lacks. If the warehouse is damaged, they are compared with the published copy. */
async function compare(
  options: RebuildOptions,
  {
    paths,
    isBefore,
    next,
  }: { readonly paths: WarehousePaths; readonly isBefore: boolean; readonly next: Database },
): Promise<{ readonly lacking: readonly HeldRecord[]; readonly isReplaced: boolean }> {
  const lackingFromOld = (path: string) => ofOld(options, path, (held) => findLacking({ held, other: next }));
  const lacking = isBefore ? await lackingFromOld(paths.database) : null;
  if (lacking !== null) return { lacking, isReplaced: true };
  return { lacking: (await lackingFromOld(paths.published)) ?? [], isReplaced: false };
}

/** @returns null: missing or unreadable. @throws other errors of `use` */
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
    const readable = old;
    return await use({
      all: (name, params) =>
        readable.all(name, params).catch((error: unknown) => {
          own = error;
          throw error;
        }),
    });
  } catch (error) {
    if (isWarehouseError(error, 'warehouse-locked') || error !== own) throw error;
    options.log.warn({ err: error, path }, 'the file cannot be read; the rebuild is not compared with it');
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

/** Continues the sequence numbers of the publications, if the published copy is readable. */
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
      'the published copy cannot be read; the sequence continues from the kept copies',
    );
  }
}

/** After a crash between the two renames there is no warehouse, and the next start rebuilds it. */
async function swap({
  next,
  database,
  at,
}: {
  readonly next: string;
  readonly database: string;
  readonly at: Date;
}): Promise<string | null> {
  let movedAside: string | null = null;
  if (await isThere(database)) {
    const folder = asideFolder(dirname(database));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    movedAside = join(folder, `${at.toISOString().replaceAll(':', '-')}-${basename(database)}`);
    if (await isThere(`${database}.wal`)) await rename(`${database}.wal`, `${movedAside}.wal`);
    await rename(database, movedAside);
  } else {
    await rm(`${database}.wal`, { force: true });
  }
  await rename(next, database);
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

export interface PartialRebuild {
  readonly database: Database;
  /** null: new. */
  readonly done: PartialCounts | null;
}

/** Ingested by the interrupted rebuild. */
export interface PartialCounts {
  readonly events: number;
  readonly loads: number;
}

/** The caller holds the lock of the warehouse. @param open opens or creates the file */
async function openPartialRebuild(
  options: RebuildOptions,
  { path, open, now }: { readonly path: string; readonly open: () => Promise<Database>; readonly now: Date },
): Promise<PartialRebuild> {
  const partial = await resumeFrom(options, path, open);
  if (partial !== null) return partial;
  await removeDatabase(path);
  const database = await open();
  await migrate(database, now);
  await markPartialRebuild(options, database);
  return { database, done: null };
}

/** Stores in new ledgers what they are built from. Also for a lake. */
export async function markPartialRebuild(
  options: RebuildOptions,
  ledgers: Pick<Ledgers, 'all'>,
): Promise<void> {
  await ledgers.all('insert-cursor', { stream: 'rebuild', position: madeOf(options) });
}

/** @returns null: the partial rebuild in these ledgers cannot be resumed. Also for a lake. */
export async function resumePartialRebuild(
  options: RebuildOptions,
  ledgers: Pick<Ledgers, 'all'>,
): Promise<PartialCounts | null> {
  const [state] = await ledgers.all('partial-rebuild-state');
  const isSame = state?.made_of === madeOf(options) && state.is_open === true && state.set_aside === 0;
  if (!isSame || (await hasPurged(options, ledgers))) return null;
  const done = { events: Number(state.events), loads: Number(state.loads) };
  options.log.info(done, 'resuming the interrupted rebuild');
  return done;
}

async function resumeFrom(
  options: RebuildOptions,
  path: string,
  open: () => Promise<Database>,
): Promise<PartialRebuild | null> {
  if (!exists(path)) return null;
  let database: Database | null = null;
  try {
    database = await open();
    const done = await resumePartialRebuild(options, database);
    if (done !== null) return { database, done };
  } catch (error) {
    options.log.warn({ err: error, path }, 'the interrupted rebuild cannot be resumed');
  }
  database?.close();
  return null;
}

function madeOf({ settings: { archive } }: RebuildOptions): string {
  return JSON.stringify({ version: version(), schema: schemaNumber(), views: views().sha256, archive });
}

async function hasPurged({ archive }: RebuildOptions, ledgers: Pick<Ledgers, 'all'>): Promise<boolean> {
  const { purgedFiles } = await readRetention(archive);
  if (purgedFiles.size === 0) return false;
  return (await ledgers.all('partial-rebuild-files')).some(({ file_sha256: file }) =>
    purgedFiles.has(String(file)),
  );
}

export interface Losses {
  readonly losses: readonly LostRecord[];
  /** Whether the previous warehouse has records that the new one lacks. */
  readonly holdsLess: boolean;
}

export interface Comparison {
  /** Records of the previous warehouse that the new one lacks. */
  readonly lacking: readonly HeldRecord[];
  /** Loads whose file was purged: no loss, unless they are part of totals now. */
  readonly purged: readonly LoadFact[];
}

/** Also for a lake. @param failed records that could not be restored */
export function findLosses(failed: readonly LostRecord[], { lacking: all, purged }: Comparison): Losses {
  const purgedLoads = new Set(purged.map(({ loadId }) => `${loadId}`));
  const lacking = all.filter(
    ({ kind, subject, isCounted }) => kind !== 'load' || isCounted || !purgedLoads.has(subject),
  );
  const losses = [...failed];
  const knownLoads = new Set(failed.map(({ loadId }) => `${loadId}`));
  for (const { kind, subject, invoiceId, sha256 } of lacking) {
    if (kind !== 'load' || knownLoads.has(subject)) continue;
    const why = purgedLoads.has(subject)
      ? 'its file was purged, and it is part of totals now'
      : 'the archive has no fact of this load';
    losses.push({ invoiceId, loadId: Number(subject), sha256, why });
  }
  const reported = new Set(losses.map(({ invoiceId }) => invoiceId));
  for (const { kind, invoiceId } of lacking) {
    if (kind !== 'invoice' || reported.has(invoiceId)) continue;
    losses.push({ ...NO_LOAD, invoiceId, why: 'the archive has no record of this invoice' });
  }
  const events = lacking.filter(({ kind }) => kind === 'event').length;
  if (events > 0)
    losses.push({ ...NO_LOAD, why: `the archive lacks ${events} ${events === 1 ? 'event' : 'events'}` });
  for (const { kind, invoiceId, lines } of lackingFacts(lacking)) {
    const facts = lines === 1 ? 'fact' : 'facts';
    losses.push({ ...NO_LOAD, invoiceId, why: `the archive lacks ${lines} ${facts} of kind ${kind}` });
  }
  return { losses, holdsLess: lacking.length > 0 };
}

const NO_LOAD = { invoiceId: null, loadId: null, sha256: null } as const;
