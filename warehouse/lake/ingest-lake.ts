/**
 * Reads new events and facts of the archive into the ledgers of a lake. One process does it at a time; the others use its result when it
 * started after they asked, so that many workers cost no more readings than one.
 */

import type { Archive } from '../../archive/archive.ts';
import type { KeyedMutex } from '../duckdb/locks.ts';
import { type Ingested, type IngestOptions, ingest } from '../ledger/ingest.ts';
import { holdInvoices, type Ledger, type LedgerOnOne } from './ledger.ts';

export interface IngestLakeOptions {
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly now: Date;
  /** Of this process: a caller that waits here holds no connection, unlike one that waits for PostgreSQL's lock. */
  readonly locks: KeyedMutex;
  readonly deferFacts?: boolean;
  readonly onProgress?: IngestOptions['onProgress'];
  readonly onMissing?: IngestOptions['onMissing'];
}

/** @returns all zeros when another process did it meanwhile */
export function ingestLake(options: IngestLakeOptions): Promise<Ingested> {
  const { ledger, locks, deferFacts = false } = options;
  return locks.run('#ingest', async () => {
    const { started } = await ledger.first('ingest-runs');
    return ledger.alone('ingest', async (ledgers) => {
      const [runs] = await ledgers.all('ingest-runs');
      const finished = deferFacts ? runs?.finished : runs?.finished_whole;
      // A run with a higher number started after this call and has read everything that this call is about.
      if (Number(finished) > Number(started)) return NOTHING;
      const [run] = await ledgers.all('start-ingest');
      const ingested = await ingestAlone(ledgers, options);
      await ledgers.all('finish-ingest', { run: Number(run?.started), is_whole: !deferFacts });
      return ingested;
    });
  });
}

const NOTHING: Ingested = { events: 0, facts: 0, changes: 0, setAside: [], readAgain: [] };

function ingestAlone(
  ledgers: LedgerOnOne,
  { ledger, archive, now, deferFacts = false, onProgress, onMissing }: IngestLakeOptions,
): Promise<Ingested> {
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
}
