/**
 * Order of waiting: locks, then a turn at the file, then a connection. Only a load has its connection first; one connection is never
 * used for a load, so that there is no deadlock.
 */

import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Archive } from '../archive/archive.ts';
import { sweepLeftBehind } from '../lib/files/files.ts';
import type { LockFile } from '../lib/files/lock-file.ts';
import { RESERVED_BY_LOADS_BYTES } from '../lib/health/free-space.ts';
import type { Metrics } from '../lib/metrics.ts';
import { isAlive } from '../lib/processes.ts';
import { createSemaphore } from '../lib/semaphore.ts';
import type { Publication } from '../lib/warehouse-requests.ts';
import { catchUpFile } from './catch-up.ts';
import {
  claimDataFolder,
  requireDiskSpace,
  sizeOf,
  type WarehousePaths,
  warehousePaths,
} from './data-folder.ts';
import { CONNECTIONS, Database, removeDatabase } from './duckdb/database.ts';
import { KeyedMutex, lockWarehouse, ReadWriteLock } from './duckdb/locks.ts';
import { migrate } from './duckdb/schema.ts';
import { type Ingested, ingest } from './ledger/ingest.ts';
import { BatchingLoader } from './load/load-queue.ts';
import type { LoadTransactions, NewLoad } from './load/rejections.ts';
import type { OpenWarehouseOptions, Store, StoreIngest } from './store.ts';
import type { Warehouse } from './warehouse.ts';
import { LedgerWarehouse } from './warehouse.ts';
import { publish } from './write-publication.ts';

/** @throws warehouse-locked, environment-mismatch, warehouse-corrupt, warehouse-too-new */
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
    await sweepCopies(paths.published);
    // The file of a rebuild is left by an ended process, because a running one would have the lock.
    await removeDatabase(paths.rebuilding);
    await sweepLeftBehind(paths.temporaryFolder);
    database = await Database.open({
      path: paths.database,
      folders: paths.readableFolders,
      temporaryFolder: paths.temporaryFolder,
      memoryLimit: settings.warehouseMemoryLimit,
      onFatal(error) {
        log.fatal({ err: error }, 'the warehouse cannot continue');
        options.onFatal?.(error);
      },
    });
    await chmod(paths.database, 0o600);
    await migrate(database, now());
    const { lastLoadId } = await catchUpFile({
      database,
      archive,
      log,
      now: now(),
      onSetAside: options.onSetAside,
    });
    const reservedBytes = options.reservedBytes ?? RESERVED_BY_LOADS_BYTES;
    const { metrics, lingerMs } = options;
    const parts = { database, archive, now, paths, lock, lastLoadId, reservedBytes, metrics, lingerMs };
    return new LedgerWarehouse(new FileStore(parts), options);
  } catch (error) {
    database?.close();
    await lock.release();
    throw error;
  }
}

async function sweepCopies(publishedPath: string): Promise<void> {
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

interface FileStoreParts {
  readonly database: Database;
  readonly archive: Archive;
  readonly now: () => Date;
  readonly paths: WarehousePaths;
  readonly lock: LockFile;
  readonly lastLoadId: number;
  readonly reservedBytes: number;
  readonly metrics: Metrics | undefined;
  readonly lingerMs: number | undefined;
}

/** Locks are taken in the order of their names, these before invoice ids; `#0` only without another lock. */
const PUBLISH = '#0-publish';
const LOAD = '#0-load';
const INGEST = '#1-ingest';
const LEDGER = '#2-ledger';

class FileStore implements Store {
  readonly #parts: FileStoreParts;
  readonly #locks = new KeyedMutex();
  readonly #readWriteLock = new ReadWriteLock();
  readonly loader: BatchingLoader<NewLoad>;
  #lastLoadId: number;

  constructor(parts: FileStoreParts) {
    this.#parts = parts;
    this.#lastLoadId = parts.lastLoadId;
    const { database, metrics, lingerMs } = parts;
    this.loader = new BatchingLoader({
      ...{ database, ledgers: database, metrics, lingerMs },
      inTurn: createSemaphore(CONNECTIONS - 1),
      numbered: (load) => {
        this.#lastLoadId += 1;
        return { ...load, loadId: this.#lastLoadId };
      },
      transactionsOf: (loads) => this.#transactions(loads),
    });
  }

  get lastLoadId(): number {
    return this.#lastLoadId;
  }

  get rows(): Database {
    return this.#parts.database;
  }

  get ledgers(): Database {
    return this.#parts.database;
  }

  async ingest(request: StoreIngest): Promise<Ingested> {
    const { database, archive, now } = this.#parts;
    await this.#requireDiskSpace();
    return this.#locks.run(INGEST, () =>
      ingest({
        database,
        archive,
        now: now(),
        ...request,
        onInvoices: (ids, work) =>
          this.#locks.runAll([LEDGER, ...ids], () =>
            this.#readWriteLock.shared(() => database.transaction(work)),
          ),
      }),
    );
  }

  async aroundLoad<T>(
    { invoiceId, sizeBytes }: { readonly invoiceId: string; readonly sizeBytes: number },
    work: () => Promise<T>,
  ): Promise<T> {
    // The chunks of a large file take as much as the file, its rows less.
    await this.#requireDiskSpace(2 * sizeBytes);
    return this.#locks.run(`${LOAD} ${invoiceId}`, work);
  }

  aroundStep<T>(work: () => Promise<T>): Promise<T> {
    return this.#readWriteLock.shared(work);
  }

  publish(recordedTo: () => number | null): Promise<Publication> {
    const { database, paths, now } = this.#parts;
    return this.#locks.run(PUBLISH, () =>
      publish({
        database,
        publishedPath: paths.published,
        temporaryFolder: paths.temporaryFolder,
        now: now(),
        recordedTo,
        alone: (work) =>
          this.#readWriteLock.exclusive(async () => {
            await this.#requireDiskSpace(await sizeOf(database.path));
            return work();
          }),
      }),
    );
  }

  async close(): Promise<void> {
    this.#parts.database.close();
    await this.#parts.lock.release();
  }

  /** Events of the invoices wait for the transaction only, not for the whole load. */
  #transactions(loads: readonly NewLoad[]): LoadTransactions {
    const invoiceIds = loads.map(({ invoiceId }) => invoiceId);
    return {
      ledger: (session, work) =>
        this.#locks.runAll(invoiceIds, () =>
          this.#readWriteLock.shared(() => session.transaction(() => work(session))),
        ),
      rows: (_session, work) => work(),
    };
  }

  async #requireDiskSpace(needBytes = 0): Promise<void> {
    const { database, reservedBytes } = this.#parts;
    await requireDiskSpace(database.path, needBytes + reservedBytes);
  }
}
