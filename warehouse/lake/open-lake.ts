/** Writers open one after the other, because the first one may have to create the ledgers and to repeat every load of the archive. */

import { mkdir } from 'node:fs/promises';
import type { Archive } from '../../archive/archive.ts';
import { sweepLeftBehind } from '../../lib/files/files.ts';
import type { Logger } from '../../lib/log/log.ts';
import { uuidOrNull } from '../../lib/wire/text.ts';
import type { CatchUpProgress, CaughtUp } from '../catch-up.ts';
import { loadFact, lossOf, recordFailedLoads, repeatUnrepeated, reportSetAside } from '../catch-up.ts';
import { claimDataFolder, warehousePaths } from '../data-folder.ts';
import type { Database } from '../duckdb/database.ts';
import { KeyedMutex } from '../duckdb/locks.ts';
import { warehouseLocked } from '../errors.ts';
import type { OpenWarehouseOptions } from '../store.ts';
import { LedgerWarehouse } from '../warehouse.ts';
import { checkBucket, generationPath, type LakePlace, lakeSchema, openLakeDatabase } from './attach-lake.ts';
import { readCatalogAddress } from './catalog-address.ts';
import { currentGeneration, migrateLedger } from './generation.ts';
import { writePointerFile } from './lake-reader.ts';
import { ingestLake, LakeStore, lakeTransactions } from './lake-store.ts';
import { Ledger } from './ledger.ts';

export async function openLake(options: OpenWarehouseOptions): Promise<LedgerWarehouse> {
  const { settings, archive, log } = options;
  const now = options.now ?? (() => new Date());
  const address = lakeAddress(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  const generation = await currentGeneration(address.address, settings.environment);
  const ledger = new Ledger(address.address, {
    generation,
    role: options.role,
    onReplaced(error) {
      log.fatal({ err: error }, 'the warehouse was rebuilt; this process has to start again');
      options.onFatal?.(error);
    },
  });
  let leave: (() => Promise<void>) | null = null;
  try {
    leave = await enterLake(ledger, address.address.printable, options.isAlone === true ? 'alone' : 'shared');
    const { database } = await ledger.alone('opening', () =>
      prepareLake({ options, ledger, place: { ...address, generation }, now }),
    );
    const publishedPath = warehousePaths(settings).published;
    const { dataPath } = address;
    const { metrics, lingerMs } = options;
    const parts = { database, ledger, archive, log, now, publishedPath, dataPath, leave, metrics, lingerMs };
    return new LedgerWarehouse(new LakeStore(parts), options);
  } catch (error) {
    await leave?.();
    await ledger.close();
    throw error;
  }
}

/** @throws warehouse-locked when `alone` is requested and there are other writers */
export async function enterLake(
  ledger: Ledger,
  printable: string,
  how: 'shared' | 'alone',
): Promise<() => Promise<void>> {
  const leave = await ledger.presence(how);
  if (leave === null) throw warehouseLocked(printable, (await ledger.others()) || null);
  return leave;
}

export function lakeAddress(
  settings: Pick<OpenWarehouseOptions['settings'], 'warehouse'>,
): Omit<LakePlace, 'generation'> {
  const { warehouse } = settings;
  if (warehouse.kind !== 'ducklake') throw new Error('The settings name no lake.');
  return { address: readCatalogAddress(warehouse.catalog), dataPath: warehouse.dataPath };
}

export interface PrepareLake {
  readonly options: Pick<
    OpenWarehouseOptions,
    'settings' | 'archive' | 'log' | 'onCatchUp' | 'onSetAside' | 'onFatal'
  >;
  readonly ledger: Ledger;
  readonly place: LakePlace;
  readonly now: () => Date;
  /** false for a rebuild: readers see it only when it is complete. */
  readonly isPublished?: boolean;
}

type CaughtUpLake = Omit<CaughtUp, 'lastLoadId'>;

/** The caller makes sure that no other process does. */
export async function prepareLake(
  prepare: PrepareLake,
): Promise<CaughtUpLake & { readonly database: Database }> {
  const { options, ledger, place, now, isPublished = true } = prepare;
  const { settings } = options;
  const paths = warehousePaths(settings);
  await mkdir(paths.temporaryFolder, { recursive: true, mode: 0o700 });
  await sweepLeftBehind(paths.temporaryFolder);
  await checkBucket(place.dataPath);
  if (!place.dataPath.includes('://')) {
    await mkdir(generationPath(place), { recursive: true, mode: 0o700 });
  }
  await migrateLedger(ledger, { printable: place.address.printable, now: now() });
  const database = await openLakeDatabase({
    place,
    folders: paths.readableFolders,
    temporaryFolder: paths.temporaryFolder,
    memoryLimit: settings.warehouseMemoryLimit,
    onFatal(error) {
      options.log.fatal({ err: error }, 'the warehouse cannot go on');
      options.onFatal?.(error);
    },
    ...(isPublished ? { whenAttached: (session) => writePointerFile(session, paths.published, place) } : {}),
  });
  try {
    await ledger.transaction((transaction) => transaction.script(replacedOnce(ledger.generation)));
    return { database, ...(await catchUpLake(prepare, database)) };
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Two processes that merge the same files can both succeed in DuckLake, and all rows are there twice: one was frozen while it was
 * tidying, or lost its lock. With this index PostgreSQL refuses the second one.
 */
function replacedOnce(generation: number): string {
  const schema = lakeSchema(generation);
  return `
    do $$ begin
      if to_regclass('${schema}.replaced_once') is null then
        create unique index replaced_once on ${schema}.ducklake_files_scheduled_for_deletion (data_file_id);
      end if;
    end $$`;
}

async function catchUpLake({ options, ledger, now }: PrepareLake, database: Database): Promise<CaughtUpLake> {
  const { archive, log, onCatchUp, onSetAside } = options;
  const progress: CatchUpProgress = { events: 0, facts: 0, loadsDone: 0, loadsOf: 0 };
  const ingested = await ingestLake({
    ledger,
    archive,
    now: now(),
    locks: new KeyedMutex(),
    onProgress: (done) => onCatchUp?.({ ...progress, ...done }),
  });
  const { events, facts } = ingested;
  const { repeated, failed, purged, highest } = await repeatUnrepeated({
    ...{ database, archive, log, ledgers: ledger },
    transactionsOf: (files) => lakeTransactions(ledger, files),
    onDone: (loadsDone, loadsOf) => onCatchUp?.({ events, facts, loadsDone, loadsOf }),
    onRepeated: async ({ loadId }) => {
      await ledger.all('mark-recorded', { load_id: loadId });
    },
  });
  if (failed.length > 0) {
    const invoiceIds = failed.flatMap(({ fact }) => uuidOrNull(fact.invoiceId) ?? []);
    await ledger.onInvoices(invoiceIds, (transaction) => recordFailedLoads(transaction, failed));
  }
  await ledger.all('delete-unrepeated');
  // Needed without missing loads too: a process may have ended after it repeated the last one.
  await ledger.all('skip-load-ids', { highest });
  await recordMissingFacts(ledger, archive, log);
  return {
    events,
    loadsRepeated: repeated,
    losses: [...failed.map(lossOf), ...reportSetAside(ingested, { log, onSetAside })],
    purged,
  };
}

/** The facts that a crash between commit and fact left out, with the time of the load. */
export async function recordMissingFacts(ledger: Ledger, archive: Archive, log: Logger): Promise<void> {
  for (const load of await ledger.all('unrecorded-loads')) {
    // Another writer may be about to archive the same fact; duplicates count once.
    await archive.putFact(loadFact(load));
    await ledger.all('mark-recorded', { load_id: Number(load.load_id) });
    log.warn(
      { invoiceId: load.invoice_id, loadId: load.load_id },
      'archived the fact of a load that a crash had interrupted',
    );
  }
}
