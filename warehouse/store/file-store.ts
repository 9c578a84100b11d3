/**
 * Rows and ledgers in one DuckDB file, for the one process that writes it.
 *
 * Locks come first, then a turn at the file, a connection last: what holds a turn waits for nobody. Only a load has its
 * connection before lock and turn, which it takes for its transaction alone; and one connection is never a load's, so they
 * never wait for each other in a ring.
 */

import type { Archive } from '../../archive/archive.js';
import type { LockFile } from '../../ops/lock-file.js';
import { createSemaphore } from '../../ops/semaphore.js';
import { requireDiskSpace, sizeOf } from '../disk-space.js';
import { CONNECTIONS, type Database } from '../duckdb/database.js';

import { KeyedMutex, ReadWriteLock } from '../duckdb/read-write-lock.js';
import { type Ingested, ingest } from '../ledger/ingest.js';
import type { FileLoad, LoadPlaces } from '../load/file-load.js';
import { knownFiles } from '../load/known-load.js';
import { BatchingLoader, loadBatch, type OnBatch } from '../load/load-batch.js';
import { loadFile } from '../load/load-file.js';
import type { WarehousePaths } from '../paths.js';
import { publish } from '../publish/publish.js';
import type { FileLoadOutcome, LoadOutcome, Publication } from '../warehouse.js';
import type { NewLoad, Store, StoreIngest } from './store.js';

export interface FileStoreParts {
  readonly database: Database;
  readonly onBatch: OnBatch;
  readonly archive: Archive;
  readonly now: () => Date;
  readonly paths: WarehousePaths;
  readonly lock: LockFile;
  readonly lastLoadId: number;
  /** Of the disk, left to others. */
  readonly reservedBytes: number;
  /** See `OpenWarehouseOptions`. */
  readonly gatherMs: number;
}

/** Locks are taken in the order of these words, `#` before any invoice id; `#0` by who holds none. */
const PUBLISH = '#0-publish';
const LOAD = '#0-load';
const INGEST = '#1-ingest';
const LEDGER = '#2-ledger';

export class FileStore implements Store {
  readonly #parts: FileStoreParts;
  readonly #locks = new KeyedMutex();
  /** Shared by all who write, exclusive for a publication. */
  readonly #readWriteLock = new ReadWriteLock();
  readonly #loadInTurn = createSemaphore(CONNECTIONS - 1);
  readonly #loader: BatchingLoader<NewLoad>;
  #lastLoadId: number;

  constructor(parts: FileStoreParts) {
    this.#parts = parts;
    this.#lastLoadId = parts.lastLoadId;
    const ways = {
      alone: (load: NewLoad) => this.#loadAlone(load),
      together: (loads: readonly NewLoad[]) => this.#loadTogether(loads),
      known: (loads: readonly NewLoad[]) => knownFiles(parts.database, loads),
    };
    this.#loader = new BatchingLoader<NewLoad>(ways, parts);
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
        lock: (ids, work) => this.#locks.runAll([LEDGER, ...ids], () => this.#readWriteLock.shared(work)),
      }),
    );
  }

  async aroundLoad<T>(
    { invoiceId, sizeBytes }: { readonly invoiceId: string; readonly sizeBytes: number },
    work: () => Promise<T>,
  ): Promise<T> {
    // A large file is cut into copies of its parts first; its rows take less than it does.
    await this.#requireDiskSpace(2 * sizeBytes);
    return this.#locks.run(`${LOAD} ${invoiceId}`, work);
  }

  loadFile(load: NewLoad, isSuspected: boolean): Promise<LoadOutcome> {
    return isSuspected ? this.#loadAlone(load) : this.#loader.load(load);
  }

  aroundStep<T>(work: () => Promise<T>): Promise<T> {
    return this.#readWriteLock.shared(work);
  }

  publish(): Promise<Publication> {
    const { database, paths, now } = this.#parts;
    return this.#locks.run(PUBLISH, () =>
      publish({
        database,
        publishedPath: paths.published,
        temporaryFolder: paths.temporaryFolder,
        now: now(),
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

  #loadAlone(load: NewLoad): Promise<FileLoadOutcome> {
    const numbered = this.#numbered(load);
    return this.#loadInTurn(() => loadFile(this.#parts.database, numbered, this.#places([load])));
  }

  #loadTogether(loads: readonly NewLoad[]): Promise<readonly (FileLoadOutcome | null)[]> {
    const numbered = loads.map((load) => this.#numbered(load));
    return this.#loadInTurn(() => loadBatch(this.#parts.database, numbered, this.#places(loads)));
  }

  #numbered(load: NewLoad): FileLoad {
    this.#lastLoadId += 1;
    return { ...load, loadId: this.#lastLoadId };
  }

  /** Rows and ledgers in one transaction. Events of the invoices wait for that alone, not for the whole load. */
  #places(loads: readonly NewLoad[]): LoadPlaces {
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
