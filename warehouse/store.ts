import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Publication } from '../lib/warehouse-requests.ts';
import type { Database } from './duckdb/database.ts';
import type { Ledgers } from './duckdb/statements.ts';
import type { Ingested, IngestRequest, OnMissing, OnSetAside } from './ledger/ingest.ts';
import type { BatchingLoader } from './load/load-queue.ts';
import type { NewLoad } from './load/rejections.ts';

export interface OpenWarehouseOptions {
  readonly settings: Pick<
    Settings,
    'dataDir' | 'environment' | 'warehouse' | 'warehouseMemoryLimit' | 'archive'
  > &
    Partial<Pick<Settings, 'csvTolerate'>>;
  readonly archive: Archive;
  readonly log: Logger;
  readonly metrics?: Metrics;
  readonly now?: () => Date;
  readonly role?: string;
  /** Only for a lake: no other writer at the same time. */
  readonly isAlone?: boolean;
  readonly lockPatienceMs?: number;
  /** How long loads and events under load wait for a larger batch; 0 by default (ADR 15). */
  readonly lingerMs?: number;
  /** For tests with small files: the records of a chunk (ADR 16). */
  readonly recordsPerCut?: number;
  /** Disk space that is left to the inbox; 32 MiB by default. */
  readonly reservedBytes?: number;
  /** DuckDB cannot continue (disk full during a checkpoint, damage): every later call fails; end the process. */
  readonly onFatal?: (error: Error) => void;
  readonly onSetAside?: OnSetAside;
}

export interface Tidied {
  readonly mergedFiles: number;
  readonly removedFiles: number;
  readonly removedLoads: number;
}

export type StoreIngest = IngestRequest & { readonly onMissing: OnMissing };

export interface Store {
  readonly rows: Database;
  readonly ledgers: Ledgers;
  readonly loader: BatchingLoader<NewLoad>;
  ingest(request: StoreIngest): Promise<Ingested>;
  /** Excludes other loads of the invoice, from the first check to the fact. */
  aroundLoad<T>(
    load: { readonly invoiceId: string; readonly sizeBytes: number },
    work: () => Promise<T>,
  ): Promise<T>;
  loadRecorded?(loadId: number): Promise<void>;
  unrecordedLoads?(): Promise<ReadonlySet<number>>;
  /** Around each step of a long read; between steps a publication may run. */
  aroundStep<T>(work: () => Promise<T>): Promise<T>;
  /** No load of this process has a higher id yet; missing: another process may number loads too. */
  readonly lastLoadId?: number;
  /** @param recordedTo up to this load id no load is in progress and the archive has all facts; null: neither is any other */
  publish(recordedTo: () => number | null): Promise<Publication>;
  tidy?(): Promise<Tidied | null>;
  /** @returns null when another process is at it */
  alone?<T>(work: () => Promise<T>): Promise<T | null>;
  blockedBy?(): Promise<string | null>;
  close(): Promise<void>;
}
