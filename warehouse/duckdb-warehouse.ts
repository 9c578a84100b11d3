/** The warehouse over one DuckDB file: what `Warehouse` promises, put together from its parts. */

import type { Archive, ArchivedEvent, Fact } from '../archive/archive.js';
import type { InvoiceHeader } from '../contract/invoice-event.js';
import type { InvoiceState, WebhookStatus } from '../contract/names.js';
import type { Logger } from '../ops/log.js';
import type { Database } from './database.js';
import { FileNotArchivedError } from './errors.js';
import { ingest } from './ingest.js';
import { refreshInvoices } from './invoice-states.js';
import { knownLoad } from './known-load.js';
import { uuidOrNull } from './ledger-lines.js';
import { loadFile } from './load-file.js';
import type { LockFile } from './lock-file.js';
import type { WarehousePaths } from './paths.js';
import { publish } from './publish.js';
import { readInvoices } from './read-invoices.js';
import { requireRoom, sizeOf } from './room.js';
import { takeEvents } from './take-ledger-lines.js';
import { KeyedMutex, type Turnstile } from './turnstile.js';
import { verifyWarehouse } from './verify.js';
import type {
  InvoiceSummary,
  LoadOutcome,
  LoadRequest,
  Publication,
  Verification,
  Warehouse,
} from './warehouse.js';

export interface WarehouseParts {
  readonly database: Database;
  readonly archive: Archive;
  readonly log: Logger;
  readonly now: () => Date;
  readonly paths: WarehousePaths;
  readonly turnstile: Turnstile;
  readonly lock: LockFile;
  readonly lastLoadId: number;
  readonly memoryBytes: number;
  /** Of the disk, left to others. */
  readonly reservedBytes: number;
}

/** Locks are taken in the order of these words, `#` before any invoice id. */
const INGEST = '#1-ingest';
const LEDGER = '#2-ledger';
const PUBLISH = '#0-publish';

export class DuckDbWarehouse implements Warehouse {
  readonly #parts: WarehouseParts;
  readonly #locks = new KeyedMutex();
  readonly #listeners: (() => void)[] = [];
  #lastLoadId: number;
  #closed: Promise<void> | null = null;

  constructor(parts: WarehouseParts) {
    this.#parts = parts;
    this.#lastLoadId = parts.lastLoadId;
  }

  async recordEvents(events: readonly ArchivedEvent[]): Promise<{ readonly fresh: readonly string[] }> {
    const invoiceIds = events.flatMap(({ event }) =>
      event === null ? [] : [event.invoice.invoiceId.toLowerCase()],
    );
    const { fresh } = await this.#write([LEDGER, ...invoiceIds], () =>
      this.#parts.database.transaction(async (session) => {
        const taken = await takeEvents(session, events);
        await refreshInvoices(session, taken.invoiceIds);
        return taken;
      }),
    );
    if (fresh.length > 0) this.#changed();
    return { fresh };
  }

  async ingestArchive(): Promise<{ readonly events: number }> {
    const { database, archive, log, turnstile } = this.#parts;
    await this.#requireRoom();
    const ingested = await this.#locks.run(INGEST, () =>
      ingest({
        database,
        archive,
        lock: (ids, work) => turnstile.shared(() => this.#locks.runAll([LEDGER, ...ids], work)),
      }),
    );
    for (const fact of ingested.missingLoads) {
      log.error(
        { invoiceId: fact.invoiceId, loadId: fact.loadId },
        'the archive tells of a load that is not here',
      );
    }
    if (ingested.changes > 0) this.#changed();
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
    const load = () => this.#loadLocked({ ...request, invoiceId }, { file, csvPath });
    // Its rows stage outside the file first, then go into the log.
    const outcome = await this.#write([invoiceId], load, 2 * file.sizeBytes);
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
    return (await readInvoices(this.#parts.database, { invoiceId }))[0] ?? null;
  }

  invoices(filter: { readonly states?: readonly InvoiceState[] } = {}): Promise<readonly InvoiceSummary[]> {
    return readInvoices(this.#parts.database, filter);
  }

  verify(options: {
    readonly full: boolean;
    readonly onProgress?: (done: number, of: number) => void;
  }): Promise<Verification> {
    const { database, archive, now, turnstile } = this.#parts;
    return verifyWarehouse({
      ...{ database, archive, now: now() },
      ...options,
      // Step by step, so that readers need not wait for a whole proof to see what is new.
      step: (work) => turnstile.shared(work),
    });
  }

  publish(): Promise<Publication> {
    const { database, paths, now, turnstile } = this.#parts;
    return this.#locks.run(PUBLISH, () =>
      publish({
        database,
        publishedPath: paths.published,
        temporaryFolder: paths.temporaryFolder,
        now: now(),
        alone: (work) =>
          turnstile.exclusive(async () => {
            await this.#requireRoom(await sizeOf(database.path));
            return work();
          }),
      }),
    );
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    const { turnstile, database, lock } = this.#parts;
    this.#closed ??= turnstile.exclusive(async () => {
      database.close();
      await lock.release();
    });
    return this.#closed;
  }

  async #loadLocked(
    request: LoadRequest,
    { file, csvPath }: { file: NonNullable<Awaited<ReturnType<Archive['file']>>>; csvPath: string },
  ): Promise<LoadOutcome> {
    const { database, archive, memoryBytes } = this.#parts;
    const { invoiceId, sha256, source, announcedSha256, eventId, workflowRunId } = request;
    const known = await knownLoad(database, request);
    if (known !== null) return known;
    this.#lastLoadId += 1;
    const loadId = this.#lastLoadId;
    const at = this.#at();
    const outcome = await loadFile(database, {
      invoiceId,
      file,
      csvPath,
      source,
      announcedSha256,
      eventId,
      workflowRunId,
      loadId,
      version: null,
      loadedAt: at,
      isRepeated: false,
      memoryBytes,
    });
    if (outcome.outcome !== 'loaded') return outcome;
    const { version, shipments, billingCost } = outcome;
    await archive.putFact({
      kind: 'load',
      at,
      invoiceId,
      sha256,
      source,
      announcedSha256,
      version,
      loadId,
      shipments,
      billingCost,
      eventId,
      workflowRunId,
    });
    return { ...outcome, loadId };
  }

  async #fence(invoiceId: string): Promise<{ isVoided: boolean; hasRows: boolean }> {
    const id = uuidOrNull(invoiceId);
    if (id === null) return { isVoided: false, hasRows: false };
    const [row] = await this.#parts.database.all('invoice-fence', { invoice_id: id });
    return { isVoided: row?.is_voided === true, hasRows: row?.has_rows === true };
  }

  /** A fact is true once the archive has it; the ledger reads it from there, as a rebuild would. */
  async #tell(fact: Fact): Promise<void> {
    await this.#parts.archive.putFact(fact);
    await this.ingestArchive();
  }

  async #write<T>(keys: readonly string[], work: () => Promise<T>, needBytes = 0): Promise<T> {
    await this.#requireRoom(needBytes);
    return this.#parts.turnstile.shared(() => this.#locks.runAll(keys, work));
  }

  async #requireRoom(needBytes = 0): Promise<void> {
    const { database, reservedBytes } = this.#parts;
    await requireRoom(database.path, needBytes + reservedBytes);
  }

  #at(): string {
    return this.#parts.now().toISOString();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
