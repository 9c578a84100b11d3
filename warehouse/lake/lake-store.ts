import { dirname } from 'node:path';
import type { Archive } from '../../archive/archive.ts';
import type { Logger } from '../../lib/log/log.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { retry } from '../../lib/retry.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import type { Publication } from '../../lib/warehouse-requests.ts';
import type { Database } from '../duckdb/database.ts';
import { KeyedMutex } from '../duckdb/locks.ts';
import type { Session } from '../duckdb/session.ts';
import type { Params, Row } from '../duckdb/statements.ts';
import { WarehouseError } from '../errors.ts';
import { type Ingested, ingest, type OnMissing } from '../ledger/ingest.ts';
import { spanOf } from '../load/commit-load.ts';
import { BatchingLoader } from '../load/load-queue.ts';
import type { FileLoad, LoadTransactions, NewLoad } from '../load/rejections.ts';
import type { Store, StoreIngest, Tidied } from '../store.ts';
import { flush } from '../write-publication.ts';
import { GIVE_AGAIN_MS, giveS3Credentials } from './attach-lake.ts';
import { isCatalogFull } from './catalog-errors.ts';
import { touchPointerFile } from './lake-reader.ts';
import { holdInvoices, type Ledger, type LedgerTransaction } from './ledger.ts';

interface IngestLakeOptions {
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly now: Date;
  /** Orders the callers of this process: one that waits here holds no connection, unlike one that waits for PostgreSQL. */
  readonly locks: KeyedMutex;
  readonly deferFacts?: boolean;
  readonly onMissing?: OnMissing;
}

/**
 * One process ingests at a time; the others use its result when it started after their request. @returns all zeros when another
 * process did it meanwhile
 */
export function ingestLake(options: IngestLakeOptions): Promise<Ingested> {
  const { ledger, archive, now, locks, deferFacts = false, onMissing } = options;
  return locks.run('#ingest', async () => {
    const { started } = await ledger.first('ingest-runs');
    return ledger.alone('ingest', async (ledgers) => {
      const [runs] = await ledgers.all('ingest-runs');
      const finished = deferFacts ? runs?.finished : runs?.finished_whole;
      // A run with a higher number started after this call and has read everything that this call is about.
      if (Number(finished) > Number(started)) return NOTHING;
      const [run] = await ledgers.all('start-ingest');
      const ingested = await ingest({
        ...{ archive, now, deferFacts, onMissing, database: ledgers },
        onInvoices: (invoiceIds, work) =>
          ledgers.transaction(async (transaction) => {
            await holdInvoices(transaction, invoiceIds, ledger.generation);
            return work(transaction);
          }),
      });
      await ledgers.all('finish-ingest', { run: Number(run?.started), is_whole: !deferFacts });
      return ingested;
    });
  });
}

const NOTHING: Ingested = { events: 0, changes: 0, setAside: [], readAgain: [] };

/**
 * Writes the rows first, flushed and not yet counted, and then the ledger. It holds the invoices, and one lock for each load in
 * progress.
 */
export function lakeTransactions(
  ledger: Ledger,
  loads: readonly { readonly invoiceId: string; readonly loadId: number }[],
): LoadTransactions {
  let held: LedgerTransaction | null = null;
  return {
    ledger: (_session, work) =>
      ledger.onInvoices(
        loads.map(({ invoiceId }) => invoiceId),
        async (transaction) => {
          for (const { loadId } of loads) await transaction.lock('load', loadId);
          held = transaction;
          return work(transaction);
        },
      ),
    rows: (session, work) =>
      session.transaction(async () => {
        const result = await work();
        await flushFiles(session, spanOf(loads));
        // DuckLake commits one at a time: waiting costs less than a conflict and a retry.
        await held?.lock('commit', ledger.generation);
        return result;
      }),
  };
}

/**
 * Flushes files before the catalogue commits. DuckLake does not flush, so after a power cut the catalogue would name missing rows.
 */
async function flushFiles(session: Session, span: Params): Promise<void> {
  const written = await session.all('written-files', span);
  const paths = written.map(({ path }) => String(path)).filter((path) => !path.includes('://'));
  const folders = new Set(paths.flatMap((path) => [dirname(path), dirname(dirname(path))]));
  for (const path of [...paths, ...folders]) await flush(path);
}

/** Removes rows of loads whose writer ended before a ledger counted them; loads in progress stay. */
async function removeLeftovers(database: Database, ledger: Ledger): Promise<readonly number[]> {
  const removed: number[] = [];
  for (const row of await database.use((session) => session.once('leftover-loads'))) {
    const loadId = Number(row.load_id);
    const isGone = await ledger.transaction(async (transaction) => {
      // The writer of the load holds this lock until its ledger has committed or never will.
      if (!(await transaction.tryLock('load', loadId))) return false;
      const counted = await transaction.all('owned-loads', { load_ids: `${loadId}` });
      if (counted.length > 0) return false;
      await database.all('remove-rows', { load_ids: `[${loadId}]` });
      return true;
    });
    if (isGone) removed.push(loadId);
  }
  return removed;
}

export interface TidyOptions {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly now: Date;
  readonly keepMs?: number;
  /** Fewer small files than this are not merged, because a merge rewrites them. */
  readonly leastFiles?: number;
}

/** A step is short, because closing waits for it. */
const STEP_ATTEMPTS = 20;
const STEP_PAUSE_MS = 1_000;
const DAY_MS = 86_400_000;
const MIN_FILES = 64;
/** The time limit of one statement, which may merge the files of a whole lake or list a bucket. */
const LIMIT_MS = 6 * 3_600_000;
const MERGE =
  "select coalesce(sum(files_processed), 0)::integer as merged from ducklake_merge_adjacent_files('lake')";

/** Writers and readers continue while the lake is tidied. @returns null when another process is tidying */
export function tidyLake(options: TidyOptions): Promise<Tidied | null> {
  const { database, ledger, now, keepMs = DAY_MS, leastFiles = MIN_FILES } = options;
  return ledger.unlessBusy('tidy', async () => {
    const leftovers = await removeLeftovers(database, ledger);
    const count = async (name: string, params = {}): Promise<Row> =>
      (await database.use((session) => session.once(name, params, LIMIT_MS)))[0] ?? {};
    const { files } = await count('small-files');
    const merged = Number(files) < leastFiles ? 0 : Number((await count(MERGE)).merged);
    const older_than = new Date(now.getTime() - keepMs).toISOString();
    const remove = (of: string): Promise<Row> =>
      count(
        `select count(*)::integer as removed from ${of}('lake', older_than => $older_than::timestamptz)`,
        {
          older_than,
        },
      );
    // The order is: old snapshots, then files that no snapshot uses, then files that a writer never registered.
    await remove('ducklake_expire_snapshots');
    const { removed } = await remove('ducklake_cleanup_old_files');
    const strays = await remove('ducklake_delete_orphaned_files');
    return {
      mergedFiles: merged,
      removedFiles: Number(removed) + Number(strays.removed),
      removedLoads: leftovers.length,
    };
  });
}

// A load is two commits: the rows go into the lake, uncounted, then the ledger counts them in a transaction that has held the invoice
// since before the first row. Rows of a writer that ended in between are removed by tidying.

interface LakeStoreParts {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly log: Logger;
  readonly now: () => Date;
  readonly publishedPath: string;
  readonly dataPath: string;
  /** Gives up the presence of this writer, for which a rebuild waits. */
  readonly leave: () => Promise<void>;
  readonly metrics: Metrics | undefined;
  readonly lingerMs: number | undefined;
  /** The next start repeats the loads that PostgreSQL has lost. */
  readonly onFatal: ((error: WarehouseError) => void) | undefined;
}

export class LakeStore implements Store {
  readonly #parts: LakeStoreParts;
  /** Orders the work of this process on an invoice; between processes PostgreSQL keeps the order. */
  readonly #locks = new KeyedMutex();
  readonly loader: BatchingLoader<NewLoad>;
  readonly #givingAgain: NodeJS.Timeout;
  #sequence = 0;

  constructor(parts: LakeStoreParts) {
    this.#parts = parts;
    const { database, ledger, metrics, lingerMs } = parts;
    this.loader = new BatchingLoader({
      ...{ database, ledgers: ledger, metrics, lingerMs },
      // Limits the connections to PostgreSQL: one load, or one batch of up to 200 files, at a time.
      inTurn: createSemaphore(1),
      // Each attempt has a new load id, because rows of a failed attempt may remain until tidying.
      numbered: async (load) => ({ ...load, loadId: Number((await ledger.first('next-load-id')).load_id) }),
      transactionsOf: (loads) => this.#transactions(loads),
    });
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
    const { ledger, archive, now, onFatal } = this.#parts;
    let lost = 0;
    const onMissing: OnMissing = (missing) => {
      lost += missing.length;
      request.onMissing(missing);
    };
    const ingested = await ingestLake({
      ...{ ledger, archive, now: now(), locks: this.#locks },
      ...{ ...request, onMissing },
    });
    if (lost > 0) onFatal?.(new WarehouseError('lake-lost-commits', [lost]));
    await this.#noticeOthers();
    return ingested;
  }

  aroundLoad<T>({ invoiceId }: { readonly invoiceId: string }, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(`load ${invoiceId}`, work);
  }

  async loadRecorded(loadId: number): Promise<void> {
    await this.#parts.ledger.all('mark-recorded', { load_id: loadId });
  }

  async unrecordedLoads(): Promise<ReadonlySet<number>> {
    const rows = await this.#parts.ledger.all('unrecorded-loads');
    return new Set(rows.map((row) => Number(row.load_id)));
  }

  /** Such steps change nothing that counts, so one that found no free connection is repeated. */
  aroundStep<T>(work: () => Promise<T>): Promise<T> {
    return retry(work, { attempts: STEP_ATTEMPTS, pauseMs: STEP_PAUSE_MS, passes: isCatalogFull });
  }

  /** Readers see every commit at once; the number is for watchers of the file. */
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

  alone<T>(work: () => Promise<T>): Promise<T | null> {
    // PostgreSQL gives a session the same lock twice.
    return this.#locks.run('#confirm', () => this.#parts.ledger.unlessBusy('confirm', work));
  }

  async close(): Promise<void> {
    const { database, ledger, leave } = this.#parts;
    clearInterval(this.#givingAgain);
    database.close();
    await leave();
    await ledger.close();
  }

  #transactions(loads: readonly FileLoad[]): LoadTransactions {
    const transactions = lakeTransactions(this.#parts.ledger, loads);
    const invoiceIds = loads.map(({ invoiceId }) => invoiceId);
    // A caller that waits for PostgreSQL's lock holds a connection; one that waits here does not.
    return {
      ...transactions,
      ledger: (session, work) => this.#locks.runAll(invoiceIds, () => transactions.ledger(session, work)),
    };
  }

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
