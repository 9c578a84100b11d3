/**
 * Rows and ledgers in one DuckDB file, for the one process that writes it.
 *
 * Locks come first, then a turn at the file, a connection last: what holds a turn waits for nobody. Only a load has its
 * connection before lock and turn, which it takes for its transaction alone; and one connection is never a load's, so they
 * never wait for each other in a ring.
 */

import type { Archive } from '../../archive/archive.ts';
import type { LockFile } from '../../lib/files/lock-file.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { requireDiskSpace, sizeOf } from '../disk-space.ts';
import { CONNECTIONS, type Database } from '../duckdb/database.ts';

import { KeyedMutex, ReadWriteLock } from '../duckdb/read-write-lock.ts';
import { type Ingested, ingest } from '../ledger/ingest.ts';
import type { FileLoad, LoadPlaces } from '../load/file-load.ts';
import { knownFiles } from '../load/known-load.ts';
import { BatchingLoader, loadBatch, type OnBatch } from '../load/load-batch.ts';
import { loadFile } from '../load/load-file.ts';
import type { WarehousePaths } from '../paths.ts';
import { publish } from '../publish/publish.ts';
import type { FileLoadOutcome, LoadOutcome, Publication } from '../warehouse.ts';
import type { NewLoad, Store, StoreIngest } from './store.ts';

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
  readonly lingerMs: number;
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
