/**
 * Rows in a lake, ledgers in PostgreSQL, for many writing processes at once.
 *
 * A load is two commits: the rows into the lake, where nobody counts them yet, then its line and its invoice's row in
 * PostgreSQL, in a transaction that has held the invoice from before the first row. Readers see an invoice whole or
 * not at all; a writer that dies in between leaves rows that never count, and `tidy` removes them.
 */

import type { Archive } from '../../archive/archive.ts';
import { DamagedFileError } from '../../lib/files/published-file.ts';
import type { Logger } from '../../lib/log/log.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { Database } from '../duckdb/database.ts';
import { KeyedMutex } from '../duckdb/locks.ts';
import type { Ingested } from '../ledger/ingest.ts';
import { knownFiles } from '../load/commit-load.ts';
import type { FileLoad, LoadTransactions } from '../load/file-load.ts';
import { BatchingLoader, loadBatch, loadFile, type OnBatch } from '../load/load-files.ts';
import type { NewLoad, Store, StoreIngest } from '../store.ts';
import type { FileLoadOutcome, LoadOutcome, Publication, Tidied } from '../warehouse.ts';
import { ingestLake } from './ingest-lake.ts';
import { lakeTransactions } from './lake-places.ts';
import type { Ledger } from './ledger.ts';
import { removeLeftovers } from './leftovers.ts';
import { touchPointerFile } from './pointer-file.ts';
import { GIVE_AGAIN_MS, giveS3Credentials } from './s3-credentials.ts';
import { tidyLake } from './tidy-lake.ts';

export interface LakeStoreParts {
  readonly database: Database;
  readonly onBatch: OnBatch;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly log: Logger;
  readonly now: () => Date;
  readonly publishedPath: string;
  /** A folder, or `s3://…`. */
  readonly dataPath: string;
  /** Says to a rebuild that nobody writes here any more. */
  readonly leave: () => Promise<void>;
  /** See `OpenWarehouseOptions`. */
  readonly lingerMs: number;
}

export class LakeStore implements Store {
  readonly #parts: LakeStoreParts;
  /** Of this process; between processes PostgreSQL keeps order. */
  readonly #locks = new KeyedMutex();
  /** One load at a time holds a connection to PostgreSQL; a batch has up to 200 files. */
  readonly #loadInTurn = createSemaphore(1);
  readonly #loader: BatchingLoader<NewLoad>;
  readonly #givingAgain: NodeJS.Timeout;
  #sequence = 0;

  constructor(parts: LakeStoreParts) {
    this.#parts = parts;
    const ways = {
      alone: (load: NewLoad) => this.#loadAlone(load),
      together: (loads: readonly NewLoad[]) => this.#loadTogether(loads),
      known: (loads: readonly NewLoad[]) => knownFiles(parts.ledger, loads),
    };
    this.#loader = new BatchingLoader<NewLoad>(ways, parts);
    this.#givingAgain = setInterval(() => this.#giveCredentials(), GIVE_AGAIN_MS);
    this.#givingAgain.unref();
  }

  get rows(): Database {
    return this.#parts.database;
  }

  get ledgers(): Ledger {
    return this.#parts.ledger;
  }

  async ingest(request: StoreIngest): Promise<Ingested> {
    const { ledger, archive, now } = this.#parts;
    const ingested = await ingestLake({ ledger, archive, now: now(), locks: this.#locks, ...request });
    await this.#noticeOthers();
    return ingested;
  }

  aroundLoad<T>({ invoiceId }: { readonly invoiceId: string }, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(`load ${invoiceId}`, work);
  }

  loadFile(load: NewLoad, isAlone: boolean): Promise<LoadOutcome> {
    return isAlone ? this.#loadAlone(load) : this.#loader.load(load);
  }

  async loadRecorded(loadId: number): Promise<void> {
    await this.#parts.ledger.all('mark-recorded', { load_id: loadId });
  }

  async unrecordedLoads(): Promise<ReadonlySet<number>> {
    const rows = await this.#parts.ledger.all('unrecorded-loads');
    return new Set(rows.map((row) => Number(row.load_id)));
  }

  aroundStep<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  async beforeVerify(): Promise<void> {
    const { database, ledger, log } = this.#parts;
    const loadIds = await removeLeftovers(database, ledger).catch((error: unknown) => {
      // Every file is asked for its loads; verifying tells which of them cannot be read.
      if (!(error instanceof DamagedFileError)) throw error;
      return [];
    });
    if (loadIds.length > 0) log.warn({ loadIds }, 'removed rows of loads that never came to count');
  }

  /** Readers see every commit at once; this numbers the change for those who watch the file. */
  async publish(): Promise<Publication> {
    const { ledger, publishedPath: path, now } = this.#parts;
    const at = now();
    const line = await ledger.transaction(async (transaction) => {
      await transaction.lock('publish', ledger.generation);
      const inserted = await transaction.first('insert-publication', { published_at: at.toISOString() });
      await transaction.all('trim-publications');
      return inserted;
    });
    this.#sequence = Number(line.sequence);
    await touchPointerFile(path, at);
    return {
      sequence: this.#sequence,
      publishedAt: String(line.published_at),
      path,
      invoices: Number(line.invoices),
      shipments: Number(line.shipments),
    };
  }

  blockedBy(): Promise<string | null> {
    return this.#parts.ledger.blockedBy();
  }

  tidy(): Promise<Tidied | null> {
    const { database, ledger, now } = this.#parts;
    return tidyLake({ database, ledger, now: now() });
  }

  async close(): Promise<void> {
    const { database, ledger, leave } = this.#parts;
    clearInterval(this.#givingAgain);
    database.close();
    await leave();
    await ledger.close();
  }

  /** Each under a number of its own, anew for each attempt: rows of an attempt that did not come to count stay behind. */
  async #numbered(load: NewLoad): Promise<FileLoad> {
    const { ledger } = this.#parts;
    return { ...load, loadId: Number((await ledger.first('next-load-id')).load_id) };
  }

  #loadAlone(load: NewLoad): Promise<FileLoadOutcome> {
    return this.#loadInTurn(async () => {
      const numbered = await this.#numbered(load);
      return loadFile(this.#parts.database, numbered, this.#places([numbered]));
    });
  }

  #loadTogether(loads: readonly NewLoad[]): Promise<readonly (FileLoadOutcome | null)[]> {
    return this.#loadInTurn(async () => {
      const numbered: FileLoad[] = [];
      for (const load of loads) numbered.push(await this.#numbered(load));
      return loadBatch(this.#parts.database, numbered, this.#places(numbered));
    });
  }

  #places(loads: readonly FileLoad[]): LoadTransactions {
    const places = lakeTransactions(this.#parts.ledger, loads);
    const invoiceIds = loads.map(({ invoiceId }) => invoiceId);
    // Who waits for PostgreSQL's lock holds a connection, who waits here does not.
    return {
      ...places,
      ledger: (session, work) => this.#locks.runAll(invoiceIds, () => places.ledger(session, work)),
    };
  }

  /** What other machines published shows here too: pages that were kept are made anew. */
  async #noticeOthers(): Promise<void> {
    const { ledger, publishedPath, now } = this.#parts;
    const { sequence } = await ledger.first('last-sequence');
    if (Number(sequence) === this.#sequence) return;
    this.#sequence = Number(sequence);
    await touchPointerFile(publishedPath, now());
  }

  #giveCredentials(): void {
    const { database, dataPath, log } = this.#parts;
    database
      .use((session) => giveS3Credentials((statement) => session.script(statement), dataPath))
      .catch((error: unknown) => log.error({ err: error }, 'no new credentials for the bucket of the lake'));
  }
}
