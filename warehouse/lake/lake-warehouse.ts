/**
 * The warehouse over a lake: what `Warehouse` promises, for many writing processes at once.
 *
 * A load is two commits: the rows into the lake, where nobody counts them yet, then its line and its invoice's row in
 * PostgreSQL, in a transaction that has held the invoice from before the first row. Readers see an invoice whole or
 * not at all; a writer that dies in between leaves rows that never count, and `tidy` removes them.
 */

import type { Archive, ArchivedEvent, Fact } from '../../archive/archive.js';
import type { ArchivedFile } from '../../contract/csv-file.js';
import type { InvoiceHeader } from '../../contract/invoice-event.js';
import type { InvoiceState, WebhookStatus } from '../../contract/names.js';
import type { Logger } from '../../ops/log.js';
import type { Database } from '../database.js';
import { FileNotArchivedError, LoadLostError } from '../errors.js';

import { refreshInvoices } from '../invoice-states.js';
import { knownLoad } from '../known-load.js';
import { uuidOrNull } from '../ledger-lines.js';
import { loadFile } from '../load-file.js';
import { readInvoices } from '../read-invoices.js';
import { takeEvents } from '../take-ledger-lines.js';
import { KeyedMutex, Turnstile } from '../turnstile.js';
import { verifyWarehouse } from '../verify.js';
import type {
  InvoiceSummary,
  LoadOutcome,
  LoadRequest,
  Publication,
  Tidied,
  Verification,
  Warehouse,
} from '../warehouse.js';
import { ingestLake } from './ingest-lake.js';
import { lakePlaces } from './lake-places.js';
import type { Ledger } from './ledger.js';
import { removeLeftovers } from './leftovers.js';
import { touchPointerFile } from './pointer-file.js';
import { GIVE_AGAIN_MS, giveS3Credentials } from './s3-credentials.js';
import { tidyLake } from './tidy-lake.js';

export interface LakeParts {
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

export class LakeWarehouse implements Warehouse {
  readonly #parts: LakeParts;
  readonly #locks = new KeyedMutex();
  /** Closing waits for what is at work. */
  readonly #turnstile = new Turnstile();
  readonly #listeners: (() => void)[] = [];
  readonly #givingAgain: NodeJS.Timeout;
  #sequence = 0;
  #closed: Promise<void> | null = null;

  constructor(parts: LakeParts) {
    this.#parts = parts;
    this.#givingAgain = setInterval(() => this.#giveCredentials(), GIVE_AGAIN_MS);
    this.#givingAgain.unref();
  }

  async recordEvents(events: readonly ArchivedEvent[]): Promise<{ readonly fresh: readonly string[] }> {
    const invoiceIds = events.flatMap(({ event }) => {
      const id = event === null ? null : uuidOrNull(event.invoice.invoiceId);
      return id === null ? [] : [id];
    });
    const { fresh } = await this.#write(invoiceIds, () =>
      this.#parts.ledger.onInvoices(invoiceIds, async (transaction) => {
        const taken = await takeEvents(transaction, events);
        await refreshInvoices(transaction, taken.invoiceIds);
        return taken;
      }),
    );
    if (fresh.length > 0) this.#changed();
    return { fresh };
  }

  async ingestArchive(): Promise<{ readonly events: number }> {
    const { ledger, archive, log } = this.#parts;
    const ingested = await this.#turnstile.shared(() => ingestLake({ ledger, archive, locks: this.#locks }));
    for (const fact of ingested.missingLoads) {
      log.error(
        { invoiceId: fact.invoiceId, loadId: fact.loadId },
        'the archive tells of a load that is not here',
      );
    }
    if (ingested.changes > 0) this.#changed();
    await this.#noticeOthers();
    return { events: ingested.events };
  }

  async recordDetails(details: {
    readonly invoiceId: string;
    readonly status: WebhookStatus | null;
    readonly header: Partial<InvoiceHeader>;
  }): Promise<void> {
    await this.#tell({ kind: 'details', at: this.#at(), ...details });
  }

  async load(request: LoadRequest): Promise<LoadOutcome> {
    const { archive } = this.#parts;
    const invoiceId = request.invoiceId.toLowerCase();
    const file = await archive.file(request.sha256);
    if (file === null) throw new FileNotArchivedError(request.sha256, 'it is not there');
    const csvPath = await archive.localPath(request.sha256);
    const outcome = await this.#write([invoiceId], () =>
      this.#loadLocked({ ...request, invoiceId }, { file, csvPath }),
    );
    if (outcome.outcome === 'loaded') this.#changed();
    return outcome;
  }

  async voidInvoice(request: {
    readonly invoiceId: string;
    readonly cause: 'event' | 'details';
  }): Promise<{ readonly hadRows: boolean }> {
    const state = await this.#fence(request.invoiceId);
    if (!state.isVoided) {
      // Whoever says so has read it in an event or in the details; the ledger did not hear of it yet.
      await this.recordDetails({ invoiceId: request.invoiceId, status: 'voided', header: {} });
    }
    return { hadRows: state.hasRows };
  }

  async parkInvoice(request: {
    readonly invoiceId: string;
    readonly code: string;
    readonly reason: string;
  }): Promise<void> {
    await this.#tell({ kind: 'attention', at: this.#at(), ...request });
  }

  async resumeInvoice(invoiceId: string): Promise<void> {
    const invoice = await this.invoice(invoiceId);
    if (invoice?.state === 'needs_attention')
      await this.#tell({ kind: 'resolved', at: this.#at(), invoiceId });
  }

  async invoice(invoiceId: string): Promise<InvoiceSummary | null> {
    return (await readInvoices(this.#parts.ledger, { invoiceId }))[0] ?? null;
  }

  invoices(filter: { readonly states?: readonly InvoiceState[] } = {}): Promise<readonly InvoiceSummary[]> {
    return readInvoices(this.#parts.ledger, filter);
  }

  verify(options: {
    readonly full: boolean;
    readonly onProgress?: (done: number, of: number) => void;
  }): Promise<Verification> {
    const { database, ledger, archive, now, log } = this.#parts;
    return this.#turnstile.shared(async () => {
      const removed = await removeLeftovers(database, ledger);
      if (removed.length > 0)
        log.warn({ loadIds: removed }, 'removed rows of loads that never came to count');
      return verifyWarehouse({
        database,
        archive,
        full: options.full,
        now: now(),
        onProgress: options.onProgress,
      });
    });
  }

  /** Readers see every commit at once; this numbers the change for those who watch the file. */
  publish(): Promise<Publication> {
    const { ledger, publishedPath: path, now } = this.#parts;
    return this.#turnstile.shared(async () => {
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
    });
  }

  tidy(): Promise<Tidied | null> {
    const { database, ledger, now } = this.#parts;
    return this.#turnstile.shared(() => tidyLake({ database, ledger, now: now() }));
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    const { database, ledger, leave } = this.#parts;
    clearInterval(this.#givingAgain);
    this.#closed ??= this.#turnstile.exclusive(async () => {
      database.close();
      await leave();
      await ledger.close();
    });
    return this.#closed;
  }

  async #loadLocked(
    request: LoadRequest,
    { file, csvPath }: { readonly file: ArchivedFile; readonly csvPath: string },
  ): Promise<LoadOutcome> {
    const { database, ledger, archive, memoryBytes } = this.#parts;
    const known = await knownLoad(ledger, request);
    if (known !== null) return known;
    const { load_id } = await ledger.first('next-load-id');
    const loadId = Number(load_id);
    const at = this.#at();
    const { invoiceId, sha256, source, announcedSha256, eventId, workflowRunId } = request;
    const told = { invoiceId, source, announcedSha256, eventId, workflowRunId, loadId };
    const load = {
      ...told,
      ...{ file, csvPath, version: null, loadedAt: at, isRepeated: false, memoryBytes },
    };
    const outcome = await loadFile(database, load, lakePlaces(ledger, { invoiceId, loadId })).catch(
      async (error: unknown) => {
        // Another process had the same file in hand and was first.
        const meanwhile = error instanceof LoadLostError ? await knownLoad(ledger, request) : null;
        if (meanwhile === null) throw error;
        return meanwhile;
      },
    );
    if (outcome.outcome !== 'loaded') return outcome;
    const { version, shipments, billingCost } = outcome;
    await archive.putFact({ kind: 'load', at, ...told, sha256, version, shipments, billingCost });
    await ledger.all('mark-told', { load_id: loadId });
    return { ...outcome, loadId };
  }

  async #fence(invoiceId: string): Promise<{ isVoided: boolean; hasRows: boolean }> {
    const id = uuidOrNull(invoiceId);
    if (id === null) return { isVoided: false, hasRows: false };
    const [row] = await this.#parts.ledger.all('invoice-fence', { invoice_id: id });
    return { isVoided: row?.is_voided === true, hasRows: row?.has_rows === true };
  }

  /** A fact is true once the archive has it; the ledger reads it from there, as a rebuild would. */
  async #tell(fact: Fact): Promise<void> {
    await this.#parts.archive.putFact(fact);
    await this.ingestArchive();
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

  #write<T>(invoiceIds: readonly string[], work: () => Promise<T>): Promise<T> {
    return this.#turnstile.shared(() => this.#locks.runAll(invoiceIds, work));
  }

  #at(): string {
    return this.#parts.now().toISOString();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
