/**
 * A rebuild replays the archive into an empty database file. Each load keeps its original time and version, so that reports have
 * the same bytes.
 */

import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Archive } from '../archive/archive.ts';
import { refuseLeftWal } from '../lib/files/damaged-database.ts';
import { asideFolder } from '../lib/files/data-folder.ts';
import { exists, syncFolder } from '../lib/files/durable-files.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Publication } from '../lib/warehouse-requests.ts';
import {
  type CaughtUp,
  catchUpFile,
  type LostRecord,
  type OnProgress,
  recordMissingFacts,
} from './catch-up.ts';
import { claimDataFolder, type WarehousePaths, warehousePaths } from './data-folder.ts';
import { Database, removeDatabase } from './duckdb/database.ts';
import { lockWarehouse } from './duckdb/locks.ts';
import { migrate } from './duckdb/schema.ts';
import type { Ledgers } from './duckdb/statements.ts';
import { isWarehouseError, WarehouseError } from './errors.ts';
import {
  contentOf,
  countsOf,
  lackingFacts,
  lackingFrom,
  readStoredRecords,
  type StoredRecord,
} from './ledger/archive-diff.ts';
import type { LoadFact } from './ledger/ingest.ts';
import type { OpenWarehouseOptions } from './store.ts';
import { publish } from './write-publication.ts';

export interface RebuildOptions {
  readonly settings: OpenWarehouseOptions['settings'];
  readonly archive: Archive;
  readonly log: Logger;
  readonly now?: () => Date;
  readonly onProgress?: OnProgress;
  readonly acceptLoss?: boolean;
}

export interface RebuildOutcome {
  readonly events: number;
  readonly loads: number;
  readonly invoices: number;
  readonly shipments: number;
  readonly losses: readonly LostRecord[];
  /** Whether it contains less than the warehouse that it would replace, as far as that is readable. */
  readonly holdsLess: boolean;
  readonly purgedLoads?: number;
}

export interface CompletedRebuild extends RebuildOutcome {
  readonly publication: Publication;
  readonly movedAside: string | null;
}

export class RebuildLossError extends WarehouseError {
  readonly outcome: RebuildOutcome;

  constructor(path: string, outcome: RebuildOutcome) {
    super('rebuild-loses', [path]);
    this.outcome = outcome;
  }
}

/** @throws warehouse-locked; RebuildLossError it would contain less */
export function rebuildFile(options: RebuildOptions): Promise<CompletedRebuild> {
  const { acceptLoss = false } = options;
  return buildNew(options, async (made, { paths, now }) => {
    if (made.holdsLess && !acceptLoss) throw new RebuildLossError(paths.database, made);
    const movedAside = await replaceDatabase(paths, now);
    const database = await openDatabase(options, paths.database);
    try {
      const publication = await publish({
        database,
        publishedPath: paths.published,
        temporaryFolder: paths.temporaryFolder,
        now,
        recordedTo: () => null,
        alone: (work) => work(),
      });
      return { ...made, publication, movedAside };
    } finally {
      database.close();
    }
  });
}

export function dryRunFileRebuild(options: RebuildOptions): Promise<RebuildOutcome> {
  return buildNew(options, async (made) => made);
}

interface Place {
  readonly paths: WarehousePaths;
  readonly now: Date;
}

/** Holds the lock until `use` has ended, and removes the new file unless `use` moved it. */
async function buildNew<T>(
  options: RebuildOptions,
  use: (made: RebuildOutcome, place: Place) => Promise<T>,
): Promise<T> {
  const { settings, archive, log } = options;
  const now = options.now?.() ?? new Date();
  const paths = warehousePaths(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  await mkdir(paths.temporaryFolder, { recursive: true, mode: 0o700 });
  const lock = await lockWarehouse(paths.lock, { role: 'rebuild', now });
  try {
    // Facts that a crash prevented are only in the warehouse.
    const recent = await readExistingDatabase(options, paths.database, (old) => old.all('loads-since'));
    if (recent !== null) await recordMissingFacts(recent, archive, log);
    return await use(await fillNew(options, { paths, now }), { paths, now });
  } finally {
    await removeDatabase(paths.rebuilding);
    await lock.release();
  }
}

async function fillNew(options: RebuildOptions, { paths, now }: Place): Promise<RebuildOutcome> {
  const { archive, log, onProgress } = options;
  await removeDatabase(paths.rebuilding);
  const next = await openDatabase(options, paths.rebuilding);
  try {
    await migrate(next, now);
    const caughtUp = await catchUpFile({
      ...{ database: next, archive, log, now },
      onProgress,
    });
    const before = await readExistingDatabase(options, paths.database, readStoredRecords);
    const stored = before ?? (await readExistingDatabase(options, paths.published, readStoredRecords)) ?? [];
    const outcome = await outcomeOf(next, caughtUp, stored);
    await next.use((session) => session.checkpoint());
    return { ...outcome, holdsLess: before !== null && outcome.holdsLess };
  } finally {
    next.close();
  }
}

/** @returns null: there is no file, or it cannot be read */
async function readExistingDatabase<T>(
  options: RebuildOptions,
  path: string,
  read: (old: Database) => Promise<T>,
): Promise<T | null> {
  if (!exists(path)) return null;
  let old: Database | undefined;
  try {
    if (path === warehousePaths(options.settings).published) await refuseLeftWal(path);
    old = await openDatabase(options, path, { readOnly: true });
    return await read(old);
  } catch (error) {
    if (isWarehouseError(error, 'warehouse-locked')) throw error;
    options.log.warn({ err: error, path }, 'the old file cannot be read; the rebuild goes on without it');
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
  const { warehouseMemoryLimit: memoryLimit } = settings;
  return Database.open({ path, folders, temporaryFolder, memoryLimit, ...more });
}

/** After a crash between the two renames there is no warehouse, and the next start rebuilds it. @returns the old file */
async function replaceDatabase({ rebuilding, database }: WarehousePaths, now: Date): Promise<string | null> {
  let movedAside: string | null = null;
  if (exists(database)) {
    const folder = asideFolder(dirname(database));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    movedAside = join(folder, `${now.toISOString().replaceAll(':', '-')}-${basename(database)}`);
    if (exists(`${database}.wal`)) await rename(`${database}.wal`, `${movedAside}.wal`);
    await rename(database, movedAside);
  } else {
    await rm(`${database}.wal`, { force: true });
  }
  await rename(rebuilding, database);
  await syncFolder(dirname(database));
  return movedAside;
}

export async function outcomeOf(
  made: Pick<Ledgers, 'all'>,
  { events, loadsRepeated, losses, purged }: CaughtUp,
  stored: readonly StoredRecord[],
): Promise<RebuildOutcome> {
  const lacking = lackingFrom(countsOf(await readStoredRecords(made)), stored);
  const [counted] = await made.all('count-made');
  return {
    ...{ events, loads: loadsRepeated },
    ...{ invoices: Number(counted?.invoices), shipments: Number(counted?.shipments) },
    ...findLosses(losses, lacking, purged),
    ...(purged.length === 0 ? {} : { purgedLoads: purged.length }),
  };
}

function findLosses(
  failed: readonly LostRecord[],
  stored: readonly StoredRecord[],
  purged: readonly LoadFact[],
): Pick<RebuildOutcome, 'losses' | 'holdsLess'> {
  const purgedLoads = new Set(purged.map(contentOf));
  const lacking = stored.filter(
    ({ kind, subject, isCounted }) => kind !== 'load' || isCounted || !purgedLoads.has(subject),
  );
  const losses = [...failed];
  const knownLoads = new Set(failed.map(({ invoiceId, sha256 }) => `${invoiceId} ${sha256}`));
  for (const { kind, subject, loadId, invoiceId, sha256 } of lacking) {
    if (kind !== 'load' || knownLoads.has(subject)) continue;
    const why = purgedLoads.has(subject)
      ? 'its file was purged, and it is part of totals now'
      : 'the archive has no fact of this load';
    losses.push({ invoiceId, loadId, sha256, why });
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
