/** Writers open one after the other, because the first one may have to create the ledgers and to repeat every load of the archive. */

import { mkdir } from 'node:fs/promises';
import type { Archive } from '../../archive/archive.ts';
import { sweepLeftBehind } from '../../lib/files/files.ts';
import type { Logger } from '../../lib/log/log.ts';
import { type CaughtUp, catchUp, type OnProgress, recordMissingFacts } from '../catch-up.ts';
import { claimDataFolder, warehousePaths } from '../data-folder.ts';
import type { Database } from '../duckdb/database.ts';
import { KeyedMutex } from '../duckdb/locks.ts';
import { type WarehouseError, warehouseLocked } from '../errors.ts';
import type { OpenWarehouseOptions } from '../store.ts';
import { LedgerWarehouse } from '../warehouse.ts';
import { checkBucket, generationPath, type LakePlace, lakeSchema, openLakeDatabase } from './attach-lake.ts';
import { readCatalogAddress } from './catalog-address.ts';
import { createLedger, currentGeneration, migrateLedger } from './generation.ts';
import { writePointerFile } from './lake-reader.ts';
import { ingestLake, LakeStore, lakeTransactions } from './lake-store.ts';
import { Ledger } from './ledger.ts';

export async function openLake(options: OpenWarehouseOptions): Promise<LedgerWarehouse> {
  const { settings, archive, log } = options;
  const now = options.now ?? (() => new Date());
  const address = lakeAddress(settings);
  await claimDataFolder(settings.dataDir, settings.environment);
  const generation = await currentGeneration(address.address, settings.environment);
  const end = (error: WarehouseError): void => {
    log.fatal({ err: error }, 'this process has to start again');
    options.onFatal?.(error);
  };
  const ledger = new Ledger(address.address, {
    generation,
    role: options.role,
    onReplaced: end,
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
    return new LedgerWarehouse(new LakeStore({ ...parts, onFatal: end }), options);
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
  readonly options: Pick<OpenWarehouseOptions, 'settings' | 'archive' | 'log' | 'onSetAside' | 'onFatal'> & {
    readonly onProgress?: OnProgress;
  };
  readonly ledger: Ledger;
  readonly place: LakePlace;
  readonly now: () => Date;
  /** False for a rebuild, because readers see its lake only when it is complete. */
  readonly isPublished?: boolean;
}

/** The caller makes sure that no other process prepares the lake. */
export async function prepareLake(prepare: PrepareLake): Promise<CaughtUp & { readonly database: Database }> {
  const { options, ledger, place, now, isPublished = true } = prepare;
  const { settings } = options;
  const paths = warehousePaths(settings);
  await mkdir(paths.temporaryFolder, { recursive: true, mode: 0o700 });
  await sweepLeftBehind(paths.temporaryFolder);
  await checkBucket(place.dataPath);
  if (!place.dataPath.includes('://')) {
    await mkdir(generationPath(place), { recursive: true, mode: 0o700 });
  }
  const tables = { where: place.address.printable, now: now() };
  await (isPublished ? migrateLedger(ledger, tables) : createLedger(ledger, tables));
  const { loads } = await ledger.first('count-loads');
  const database = await openLakeDatabase({
    place,
    // An empty catalogue beside ledgers that count loads would lack all rows.
    mayCreate: Number(loads) === 0,
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

async function catchUpLake(
  { options: { archive, log, onSetAside, onProgress }, ledger, now }: PrepareLake,
  database: Database,
): Promise<CaughtUp> {
  const caughtUp = await catchUp({
    ...{ database, ledgers: ledger, archive, log, onSetAside, onProgress },
    ingest: () => ingestLake({ ledger, archive, now: now(), locks: new KeyedMutex() }),
    transactionsOf: (files) => lakeTransactions(ledger, files),
    onInvoices: (invoiceIds, work) => ledger.onInvoices(invoiceIds, work),
    async nextLoadId(above) {
      await ledger.all('skip-load-ids', { highest: above });
      return Number((await ledger.first('next-load-id')).load_id);
    },
    onRepeated: async ({ loadId }) => {
      await ledger.all('mark-recorded', { load_id: loadId });
    },
  });
  // Load ids are skipped without missing loads too, because a process may have ended after it repeated the last one.
  await ledger.all('skip-load-ids', { highest: caughtUp.highest });
  await recordUnrecorded(ledger, archive, log);
  return caughtUp;
}

/** Archives facts that a crash between a commit and its fact has left out, with the time of the load. */
export async function recordUnrecorded(ledger: Ledger, archive: Archive, log: Logger): Promise<void> {
  const unrecorded = await ledger.all('unrecorded-loads');
  await recordMissingFacts(unrecorded, archive, log);
  for (const load of unrecorded) await ledger.all('mark-recorded', { load_id: Number(load.load_id) });
}
