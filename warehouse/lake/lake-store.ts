/**
 * Rows in a lake, ledgers in PostgreSQL, for many writing processes at once.
 *
 * A load is two commits: the rows into the lake, where nobody counts them yet, then its line and its invoice's row in
 * PostgreSQL, in a transaction that has held the invoice from before the first row. Readers see an invoice whole or
 * not at all; a writer that dies in between leaves rows that never count, and `tidy` removes them.
 */

import type { Archive } from '../../archive/archive.js';
import type { Logger } from '../../ops/log.js';
import type { Database, Statements } from '../database.js';
import type { LoadPlaces } from '../file-load.js';
import type { Ingested } from '../ingest.js';
import type { Store } from '../ledger-warehouse.js';
import { KeyedMutex } from '../turnstile.js';
import type { Publication, Tidied } from '../warehouse.js';
import { ingestLake } from './ingest-lake.js';
import { lakePlaces } from './lake-places.js';
import type { Ledger } from './ledger.js';
import { removeLeftovers } from './leftovers.js';
import { touchPointerFile } from './pointer-file.js';
import { GIVE_AGAIN_MS, giveS3Credentials } from './s3-credentials.js';
import { tidyLake } from './tidy-lake.js';

export interface LakeStoreParts {
  readonly database: Database;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly log: Logger;
  readonly now: () => Date;
  readonly publishedPath: string;
  /** A folder, or `s3://…`. */
  readonly dataPath: string;
  readonly memoryBytes: number;
  /** Says to a rebuild that nobody writes here any more. */
  readonly leave: () => Promise<void>;
}

export class LakeStore implements Store {
  readonly #parts: LakeStoreParts;
  /** Of this process; between processes PostgreSQL keeps order. */
  readonly #locks = new KeyedMutex();
  readonly #givingAgain: NodeJS.Timeout;
  #sequence = 0;

  constructor(parts: LakeStoreParts) {
    this.#parts = parts;
    this.#givingAgain = setInterval(() => this.#giveCredentials(), GIVE_AGAIN_MS);
    this.#givingAgain.unref();
  }

  get rows(): Database {
    return this.#parts.database;
  }

  get ledgers(): Ledger {
    return this.#parts.ledger;
  }

  get memoryBytes(): number {
    return this.#parts.memoryBytes;
  }

  onInvoices<T>(invoiceIds: readonly string[], work: (statements: Statements) => Promise<T>): Promise<T> {
    return this.#locks.runAll(invoiceIds, () => this.#parts.ledger.onInvoices(invoiceIds, work));
  }

  async ingest(): Promise<Ingested> {
    const { ledger, archive } = this.#parts;
    const ingested = await ingestLake({ ledger, archive, locks: this.#locks });
    await this.#noticeOthers();
    return ingested;
  }

  aroundLoad<T>({ invoiceId }: { readonly invoiceId: string }, work: () => Promise<T>): Promise<T> {
    return this.#locks.run(invoiceId, work);
  }

  async nextLoadId(): Promise<number> {
    return Number((await this.#parts.ledger.first('next-load-id')).load_id);
  }

  placesOf(load: { readonly invoiceId: string; readonly loadId: number }): LoadPlaces {
    return lakePlaces(this.#parts.ledger, load);
  }

  async loadTold(loadId: number): Promise<void> {
    await this.#parts.ledger.all('mark-told', { load_id: loadId });
  }

  aroundStep<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  async beforeVerify(): Promise<void> {
    const { database, ledger, log } = this.#parts;
    const loadIds = await removeLeftovers(database, ledger);
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
