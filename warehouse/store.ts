/** Where rows and ledgers lie, and how writers keep out of each other's way there: what `LedgerWarehouse` is built over. */

import type { Database } from './duckdb/database.ts';
import type { Ledgers } from './duckdb/statements.ts';
import type { Ingested, OnMissing } from './ledger/ingest.ts';
import type { FileLoad } from './load/file-load.ts';
import type { IngestRequest, LoadOutcome, Publication, Tidied } from './warehouse.ts';

/** A load before it has its number and its share of memory. */
export type NewLoad = Omit<FileLoad, 'loadId'>;

export type StoreIngest = IngestRequest & { readonly onMissing: OnMissing };

/** Where rows and ledgers lie, and how writers keep out of each other's way there. */
export interface Store {
  /** Where rows are read, checked and written. */
  readonly rows: Database;
  readonly ledgers: Ledgers;
  ingest(request: StoreIngest): Promise<Ingested>;
  /** Around a load from its first look to its fact: nobody else loads the invoice. */
  aroundLoad<T>(
    load: { readonly invoiceId: string; readonly sizeBytes: number },
    work: () => Promise<T>,
  ): Promise<T>;
  /**
   * Under a load id that was never given before; together with others that come meanwhile, unless it is suspected. Whether there is
   * anything to do is asked for all of these at once (`isSmall`); of any other file its caller has asked.
   *
   * @throws what `loadFile` throws
   */
  loadFile(load: NewLoad, isAlone: boolean): Promise<LoadOutcome>;
  /** The archive has the fact of this load. */
  loadRecorded?(loadId: number): Promise<void>;
  /** Loads whose fact the archive may lack, when others write too. */
  unrecordedLoads?(): Promise<ReadonlySet<number>>;
  /** Around each part of a long reading; between parts others may be alone. */
  aroundStep<T>(work: () => Promise<T>): Promise<T>;
  beforeVerify?(): Promise<void>;
  publish(): Promise<Publication>;
  tidy?(): Promise<Tidied | null>;
  /** Which other processes hold what this one has waited for, for a while; null: it does not wait. */
  blockedBy?(): Promise<string | null>;
  close(): Promise<void>;
}
