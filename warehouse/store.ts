/** The storage below `LedgerWarehouse`: a DuckDB file, or a lake with ledgers in PostgreSQL. */

import type { LoadOutcome, Publication } from '../lib/wire/warehouse-requests.ts';
import type { Database } from './duckdb/database.ts';
import type { Ledgers } from './duckdb/statements.ts';
import type { Ingested, OnMissing } from './ledger/ingest.ts';
import type { FileLoad } from './load/file-load.ts';
import type { IngestRequest, Tidied } from './warehouse.ts';

/** A load without its id. */
export type NewLoad = Omit<FileLoad, 'loadId'>;

export type StoreIngest = IngestRequest & { readonly onMissing: OnMissing };

export interface Store {
  readonly rows: Database;
  readonly ledgers: Ledgers;
  ingest(request: StoreIngest): Promise<Ingested>;
  /** Excludes other loads of the invoice, from the first check to the fact. */
  aroundLoad<T>(
    load: { readonly invoiceId: string; readonly sizeBytes: number },
    work: () => Promise<T>,
  ): Promise<T>;
  /**
   * Uses a new load id. A small file is loaded in a batch, which checks whether it is already loaded; for another file, or with
   * `isAlone`, the caller has checked.
   *
   * @throws as `loadFile`
   */
  loadFile(load: NewLoad, isAlone: boolean): Promise<LoadOutcome>;
  /** The archive has the fact of this load. */
  loadRecorded?(loadId: number): Promise<void>;
  /** Loads of all processes whose fact the archive may lack. */
  unrecordedLoads?(): Promise<ReadonlySet<number>>;
  /** Around each step of a long read; between steps a publication may run. */
  aroundStep<T>(work: () => Promise<T>): Promise<T>;
  beforeVerify?(): Promise<void>;
  publish(): Promise<Publication>;
  tidy?(): Promise<Tidied | null>;
  /** See `Warehouse`. */
  blockedBy?(): Promise<string | null>;
  close(): Promise<void>;
}
