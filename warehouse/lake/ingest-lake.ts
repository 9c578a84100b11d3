/** Reads on in the archive for a lake: one process at a time, the others find it done. */

import type { Archive } from '../../archive/archive.ts';
import type { KeyedMutex } from '../duckdb/locks.ts';
import { type Ingested, type IngestOptions, ingest } from '../ledger/ingest.ts';
import { holdInvoices, type Ledger } from './ledger.ts';

export interface IngestLakeOptions {
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly now: Date;
  /** Of this process: who waits for PostgreSQL's lock holds a connection, who waits here does not. */
  readonly locks: KeyedMutex;
  readonly deferFacts?: boolean;
  readonly onProgress?: IngestOptions['onProgress'];
  readonly onMissing?: IngestOptions['onMissing'];
}

export function ingestLake({
  ledger,
  archive,
  now,
  locks,
  deferFacts = false,
  onProgress,
  onMissing,
}: IngestLakeOptions): Promise<Ingested> {
  return locks.run('#ingest', () =>
    ledger.alone('ingest', (ledgers) => {
      let invoices: readonly string[] = [];
      return ingest({
        archive,
        now,
        deferFacts,
        database: {
          all: ledgers.all,
          transaction: (work) =>
            ledgers.transaction(async (transaction) => {
              await holdInvoices(transaction, invoices, ledger.generation);
              return work(transaction);
            }),
        },
        lock: (invoiceIds, work) => {
          invoices = invoiceIds;
          return work();
        },
        ...(onProgress === undefined ? {} : { onProgress }),
        ...(onMissing === undefined ? {} : { onMissing }),
      });
    }),
  );
}
