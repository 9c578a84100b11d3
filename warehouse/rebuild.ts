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
import { readRetention } from '../archive/retention.ts';
import { exists } from '../lib/files/durable-files.ts';
import { refuseLeftWal } from '../lib/files/published-file.ts';
import type { Logger } from '../lib/log/log.ts';
import { version } from '../lib/runtime.ts';
import { catchUp, recordMissingFacts } from './catch-up.ts';
import { claimDataFolder, type WarehousePaths, warehousePaths } from './data-folder.ts';
import { Database, removeDatabase } from './duckdb/database.ts';
import { lockWarehouse } from './duckdb/locks.ts';
import { migrate } from './duckdb/schema.ts';
import { schemaNumber, views } from './duckdb/sql.ts';
import type { Ledgers } from './duckdb/statements.ts';
import { isWarehouseError, RebuildLossError } from './errors.ts';
import { findLacking, type HeldRecord, lackingFacts } from './ledger/archive-diff.ts';
import type { LoadFact } from './ledger/ingest.ts';
import { publish } from './publish.ts';
import type { CompletedRebuild, LostRecord, RebuildOptions, RebuildOutcome } from './warehouse.ts';

/** @throws warehouse-locked a worker has the warehouse, stop it first; RebuildLossError it would hold less */
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

/** Makes all of it, to say what a rebuild would make and lose; replaces nothing. @throws warehouse-locked */
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
    ofOld(options, path, (held) => findLacking({ held, other: draft }));
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
    if (isWarehouseError(error, 'warehouse-locked') || error !== own) throw error;
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

/*  * The draft of a rebuild, a file's or a lake's: one that was interrupted goes on where it was, since every transaction of it leaves a
 * warehouse that reads on in the archive. It is begun anew where that could end in anything else than an uninterrupted rebuild: when it was made
 * by another version or of another archive, when it came to the end of the loads, when a record of the archive was set aside (it may be whole by now), and when a file was
 * purged of which it has rows.
 */

export interface Draft {
  readonly database: Database;
  /** null: it begins. */
  readonly done: DoneBefore | null;
}

/** What an interrupted rebuild had taken in already. */
export interface DoneBefore {
  readonly events: number;
  readonly loads: number;
}

/** Nobody else may have it: the caller holds the lock of the warehouse. @param open opens, and makes, the file */
export async function openPartialRebuild(
  options: RebuildOptions,
  { path, open, now }: { readonly path: string; readonly open: () => Promise<Database>; readonly now: Date },
): Promise<Draft> {
  const left = await goOn(options, path, open);
  if (left !== null) return left;
  await removeDatabase(path);
  const database = await open();
  await migrate(database, now);
  await markPartialRebuild(options, database);
  return { database, done: null };
}

/** Notes of what it is made, in ledgers that have just been made. */
export async function markPartialRebuild(
  options: RebuildOptions,
  ledgers: Pick<Ledgers, 'all'>,
): Promise<void> {
  await ledgers.all('insert-cursor', { stream: 'draft', position: madeOf(options) });
}

/** @returns null when what an interrupted rebuild left in these ledgers may not go on */
export async function resumePartialRebuild(
  options: RebuildOptions,
  ledgers: Pick<Ledgers, 'all'>,
): Promise<DoneBefore | null> {
  const [state] = await ledgers.all('partial-rebuild-state');
  const isSame = state?.made_of === madeOf(options) && state.is_open === true && state.set_aside === 0;
  if (!isSame || (await hasPurged(options, ledgers))) return null;
  const done = { events: Number(state.events), loads: Number(state.loads) };
  options.log.info(done, 'going on with the rebuild that was interrupted');
  return done;
}

/** null when there is none, or none that may go on. */
async function goOn(
  options: RebuildOptions,
  path: string,
  open: () => Promise<Database>,
): Promise<Draft | null> {
  if (!exists(path)) return null;
  let database: Database | null = null;
  try {
    database = await open();
    const done = await resumePartialRebuild(options, database);
    if (done !== null) return { database, done };
  } catch (error) {
    options.log.warn({ err: error, path }, 'what an interrupted rebuild left cannot be used');
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

/* What a rebuild would lose: what could not be repeated, and what the warehouse before it has and it has not. */

export interface Losses {
  readonly losses: readonly LostRecord[];
  /** Whether the warehouse before holds anything that this one does not. */
  readonly holdsLess: boolean;
}

export interface Comparison {
  /** What the warehouse before has and the new one has not. */
  readonly lacking: readonly HeldRecord[];
  /** Loads whose file was purged: no loss, unless totals have come to see them since. */
  readonly purged: readonly LoadFact[];
}

/** @param notMade what could not be repeated */
export function findLosses(notMade: readonly LostRecord[], { lacking: all, purged }: Comparison): Losses {
  const purgedLoads = new Set(purged.map(({ loadId }) => `${loadId}`));
  const lacking = all.filter(
    ({ kind, subject, isCounted }) => kind !== 'load' || isCounted || !purgedLoads.has(subject),
  );
  const losses = [...notMade];
  const knownLoads = new Set(notMade.map(({ loadId }) => `${loadId}`));
  for (const { kind, subject, invoiceId, sha256 } of lacking) {
    if (kind !== 'load' || knownLoads.has(subject)) continue;
    const why = purgedLoads.has(subject)
      ? 'its file was purged, and it has come to count since'
      : 'the archive has no fact of this load';
    losses.push({ invoiceId, loadId: Number(subject), sha256, why });
  }
  const told = new Set(losses.map(({ invoiceId }) => invoiceId));
  for (const { kind, invoiceId } of lacking) {
    if (kind !== 'invoice' || told.has(invoiceId)) continue;
    losses.push({ ...NO_LOAD, invoiceId, why: 'the archive tells nothing of this invoice' });
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
