/**
 * What `Warehouse` promises, over any store: facts go to the archive first and into the ledgers from there, a file is
 * loaded once, and closing waits for what is at work. Where rows and ledgers lie is the store's affair.
 */

import type { Archive, ArchivedEvent, Fact } from '../../archive/archive.js';
import type { ArchivedFile, CsvTolerance } from '../../contract/csv-file.js';
import type { InvoiceHeader } from '../../contract/invoice-event.js';
import type { InvoiceState, WebhookStatus } from '../../contract/names.js';
import { uuidOrNull } from '../../contract/uuid-or-null.js';
import type { Logger } from '../../ops/log.js';
import type { Database } from '../duckdb/database.js';
import { GroupCommit } from '../duckdb/group-commit.js';
import { ReadWriteLock } from '../duckdb/read-write-lock.js';
import type { Ledgers, Statements } from '../duckdb/statements.js';
import { FileNotArchivedError, LoadedMeanwhileError } from '../errors.js';
import type { HeldRecord } from '../ledger/archive-diff.js';
import { checkDecision } from '../ledger/decide.js';
import { noteAsked, readDue } from '../ledger/due-invoices.js';
import { type Ingested, placeOfEvent } from '../ledger/ingest.js';
import { insertEvents } from '../ledger/insert-ledger-lines.js';
import { readInvoiceLines, refreshInvoices } from '../ledger/invoice-states.js';
import { readInvoice, readInvoices, readStandings } from '../ledger/read-invoices.js';
import { isRecordError, noteSetAside } from '../ledger/set-aside.js';
import { checkFile } from '../load/check-file.js';
import type { FileLoad } from '../load/file-load.js';
import { knownLoads } from '../load/known-load.js';
import { LoadAttempts } from '../load/load-attempts.js';
import type { OnSetAside, OpenWarehouseOptions, SetAside } from '../opening.js';
import { tellOfIngested } from '../recover/catch-up.js';
import { verifyWarehouse } from '../verify/verify.js';
import type {
  CheckOutcome,
  Decided,
  Decision,
  DueInvoices,
  DueRequest,
  FileLoadOutcome,
  FileToCheck,
  InvoiceStanding,
  InvoiceSummary,
  LoadOutcome,
  LoadRequest,
  Publication,
  Tidied,
  Verification,
  Warehouse,
} from '../warehouse.js';

/** A load before it has its number and its share of memory. */
export type NewLoad = Omit<FileLoad, 'loadId'>;

/** Where rows and ledgers lie, and how writers keep out of each other's way there. */
export interface Store {
  /** Where rows are read, checked and written. */
  readonly rows: Database;
  readonly ledgers: Ledgers;
  /** A transaction of the ledgers that nobody else has these invoices in; ids in lower case. */
  onInvoices<T>(invoiceIds: readonly string[], work: (statements: Statements) => Promise<T>): Promise<T>;
  ingest(): Promise<Ingested>;
  /** Around a load from its first look to its fact: nobody else loads the invoice. */
  aroundLoad<T>(
    load: { readonly invoiceId: string; readonly sizeBytes: number },
    work: () => Promise<T>,
  ): Promise<T>;
  /**
   * Under a load id that was never given before; together with others that come meanwhile, unless it is suspected.
   *
   * @throws what `loadFile` throws
   */
  loadFile(load: NewLoad, isSuspected: boolean): Promise<FileLoadOutcome>;
  /** The archive has the fact of this load. */
  loadTold?(loadId: number): Promise<void>;
  /** Loads whose fact the archive may lack, when others write too. */
  unrecordedLoads?(): Promise<ReadonlySet<number>>;
  /** Around each part of a long reading; between parts others may be alone. */
  aroundStep<T>(work: () => Promise<T>): Promise<T>;
  beforeVerify?(): Promise<void>;
  publish(): Promise<Publication>;
  tidy?(): Promise<Tidied | null>;
  close(): Promise<void>;
}

export class LedgerWarehouse implements Warehouse {
  readonly #store: Store;
  readonly #archive: Archive;
  readonly #attempts: LoadAttempts;
  /** What the partner accepts besides the specified form of a CSV. */
  readonly #tolerances: readonly CsvTolerance[];
  readonly #log: Logger;
  readonly #now: () => Date;
  readonly #onSetAside: OnSetAside | undefined;
  /** Shared by all who are at work, exclusive for the end. What holds it never takes it again. */
  readonly #open = new ReadWriteLock();
  readonly #listeners: (() => void)[] = [];
  /** An event alone costs as much as ten in one transaction, nearly all of it planning statements. */
  readonly #recording = new GroupCommit((groups: readonly (readonly ArchivedEvent[])[]) =>
    this.#recordGroups(groups),
  );
  readonly #ingesting = new GroupCommit(
    async (asked: readonly null[]) => {
      const ingested = await this.#ingest();
      return asked.map(() => ingested);
    },
    { isSplit: false },
  );
  readonly #knowing = new GroupCommit((requests: readonly LoadRequest[]) =>
    knownLoads(this.#store.ledgers, requests),
  );
  /** Invoices with a load at work here, from before its commit until its fact is in the archive. */
  readonly #loading = new Set<string>();
  /** By invoice: facts of loads that were committed and that the archive did not take. */
  readonly #untold = new Map<string, Fact & { readonly kind: 'load' }>();
  #closed: Promise<void> | null = null;

  constructor(store: Store, options: OpenWarehouseOptions) {
    this.#store = store;
    this.#archive = options.archive;
    this.#attempts = new LoadAttempts(options.settings.dataDir);
    this.#tolerances = options.settings.csvTolerate ?? [];
    this.#log = options.log;
    this.#now = options.now ?? (() => new Date());
    this.#onSetAside = options.onSetAside;
  }

  async recordEvents(events: readonly ArchivedEvent[]): Promise<{ readonly fresh: readonly string[] }> {
    const fresh = await this.#open.shared(() => this.#recordEach(events));
    if (fresh.length > 0) this.#changed();
    return { fresh };
  }

  ingestArchive(): Promise<{ readonly events: number }> {
    return this.#ingesting.do(null);
  }

  async recordDetails(details: {
    readonly invoiceId: string;
    readonly status: WebhookStatus | null;
    readonly unknownStatus?: string | null;
    readonly header: Partial<InvoiceHeader>;
  }): Promise<void> {
    await this.#tell({ kind: 'details', at: this.#at(), ...details });
  }

  async load(asked: LoadRequest): Promise<LoadOutcome> {
    const request = { ...asked, invoiceId: asked.invoiceId.toLowerCase() };
    const { invoiceId, sha256 } = request;
    const file = await this.#archive.file(sha256);
    if (file === null) throw new FileNotArchivedError(sha256, 'it is not there');
    const csvPath = await this.#archive.localPath(sha256);
    const outcome = await this.#open.shared(() =>
      this.#store.aroundLoad({ invoiceId, sizeBytes: file.sizeBytes }, () =>
        this.#loadHeld(request, { file, csvPath }),
      ),
    );
    if (outcome.outcome === 'loaded') this.#changed();
    return outcome;
  }

  judge(asked: Omit<FileToCheck, 'at'>): Promise<CheckOutcome> {
    const file = { ...asked, invoiceId: asked.invoiceId.toLowerCase(), at: this.#at() };
    const places = { ledgers: this.#store.ledgers, tolerances: this.#tolerances };
    return this.#open.shared(() => checkFile(places, file));
  }

  async voidInvoice(invoiceId: string): Promise<{ readonly hadRows: boolean }> {
    const state = await this.#fence(invoiceId);
    if (!state.isVoided) {
      // Whoever says so has read it in an event or in the details; the ledger did not hear of it yet.
      await this.recordDetails({ invoiceId, status: 'voided', header: {} });
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
    this.#attempts.forget(invoiceId);
    const invoice = await this.invoice(invoiceId);
    if (invoice?.state === 'needs_attention')
      await this.#tell({ kind: 'resolved', at: this.#at(), invoiceId });
  }

  async noteFailure(
    invoiceId: string,
    failure: { readonly code: string; readonly reason: string } | null,
  ): Promise<void> {
    const at = this.#at();
    if (failure === null) await this.#tell({ kind: 'recovered', at, invoiceId });
    else await this.#tell({ kind: 'failure', at, invoiceId, ...failure });
  }

  async decide(asked: Decision): Promise<Decided> {
    const decision = { ...asked, invoiceId: asked.invoiceId.toLowerCase() };
    const { invoiceId } = decision;
    // What the archive has was heard before the decision, and must not come after it.
    await this.ingestArchive();
    const lines = await this.#open.shared(() =>
      this.#store.ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId])),
    );
    const { fact, decided } = checkDecision(decision, lines.get(invoiceId), this.#at());
    if (fact === null || decision.isDryRun) return decided;
    await this.#tell(fact);
    return { ...decided, state: (await this.invoice(invoiceId))?.state ?? decided.state };
  }

  async invoice(invoiceId: string): Promise<InvoiceSummary | null> {
    return readInvoice(this.#store.ledgers, invoiceId);
  }

  invoices(filter: { readonly states?: readonly InvoiceState[] } = {}): Promise<readonly InvoiceSummary[]> {
    return readInvoices(this.#store.ledgers, filter);
  }

  standings(invoiceIds: readonly string[]): Promise<readonly InvoiceStanding[]> {
    return readStandings(this.#store.ledgers, invoiceIds);
  }

  due(request: DueRequest): Promise<DueInvoices> {
    return readDue(this.#store.ledgers, request);
  }

  noteAsked(invoiceIds: readonly string[], askedAt: string): Promise<void> {
    return this.#open.shared(() => noteAsked(this.#store.ledgers, invoiceIds, askedAt));
  }

  async verify(options: {
    readonly full: boolean;
    readonly onProgress?: (done: number, of: number) => void;
  }): Promise<Verification> {
    const store = this.#store;
    // Step by step, so that neither readers nor an end have to wait for a whole proof.
    const step = <T>(work: () => Promise<T>): Promise<T> => this.#open.shared(() => store.aroundStep(work));
    await this.#open.shared(async () => store.beforeVerify?.());
    return verifyWarehouse({
      database: store.rows,
      archive: this.#archive,
      now: this.#now(),
      step,
      beingTold: () => this.#beingTold(),
      ...options,
    });
  }

  publish(): Promise<Publication> {
    return this.#open.shared(() => this.#store.publish());
  }

  async tidy(): Promise<Tidied | null> {
    return this.#open.shared(async () => (await this.#store.tidy?.()) ?? null);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#open.exclusive(() => this.#store.close());
    return this.#closed;
  }

  async #ingest(): Promise<{ readonly events: number }> {
    const ingested = await this.#open.shared(() => this.#store.ingest());
    for (const { invoiceId, loadId } of ingested.missingLoads) {
      this.#log.error({ invoiceId, loadId }, 'the archive tells of a load that is not here');
    }
    tellOfIngested(ingested, { log: this.#log, onSetAside: this.#onSetAside });
    if (ingested.changes > 0) this.#changed();
    return { events: ingested.events };
  }

  /** @returns the ids of those that were not recorded before; one that cannot be recorded is set aside */
  async #recordEach(events: readonly ArchivedEvent[]): Promise<readonly string[]> {
    try {
      return (await this.#recording.do(events)).fresh;
    } catch (error) {
      if (!isRecordError(error)) throw error;
      const [event, ...others] = events;
      if (event === undefined) throw error;
      if (others.length === 0) {
        await this.#setAside({ place: placeOfEvent(event), why: error.message });
        return [];
      }
    }
    const fresh: string[] = [];
    for (const event of events) fresh.push(...(await this.#recordEach([event])));
    return fresh;
  }

  async #setAside(record: SetAside): Promise<void> {
    const setAside = await this.#store.onInvoices([], (statements) =>
      noteSetAside(statements, [record], this.#now()),
    );
    tellOfIngested({ setAside, readAgain: [] }, { log: this.#log, onSetAside: this.#onSetAside });
  }

  async #recordGroups(
    groups: readonly (readonly ArchivedEvent[])[],
  ): Promise<readonly { readonly fresh: readonly string[] }[]> {
    const events = groups.flat();
    const invoiceIds = events.flatMap(({ event }) => uuidOrNull(event?.invoice.invoiceId) ?? []);
    const { fresh } = await this.#store.onInvoices(invoiceIds, async (statements) => {
      const taken = await insertEvents(statements, events);
      await refreshInvoices(statements, taken);
      return taken;
    });
    // Of two who told one event in one group, the first told what is new.
    const untold = new Set(fresh);
    return groups.map((group) => ({
      fresh: group.map(({ eventId }) => eventId).filter((eventId) => untold.delete(eventId)),
    }));
  }

  async #loadHeld(
    request: LoadRequest,
    { file, csvPath }: { readonly file: ArchivedFile; readonly csvPath: string },
  ): Promise<LoadOutcome> {
    const untold = this.#untold.get(request.invoiceId);
    if (untold !== undefined) await this.#tellLoad(untold);
    const known = await this.#knowing.do(request);
    if (known !== null) return known;
    this.#loading.add(request.invoiceId);
    try {
      return await this.#loadNew(request, { file, csvPath });
    } finally {
      this.#loading.delete(request.invoiceId);
    }
  }

  async #loadNew(
    request: LoadRequest,
    { file, csvPath }: { readonly file: ArchivedFile; readonly csvPath: string },
  ): Promise<LoadOutcome> {
    const store = this.#store;
    const at = this.#at();
    const { sha256, ...asked } = request;
    const load = {
      ...{ ...asked, file, csvPath, version: null, loadedAt: at, isRepeated: false },
      tolerances: this.#tolerances,
    };
    const attempt = this.#attempts.around(request, (isSuspected) => store.loadFile(load, isSuspected));
    const outcome = await attempt.catch(async (error: unknown) => {
      const meanwhile = error instanceof LoadedMeanwhileError ? await this.#knowing.do(request) : null;
      if (meanwhile === null) throw error;
      return meanwhile;
    });
    if (outcome.outcome !== 'loaded') return outcome;
    const { loadId, version, shipments, billingCost } = outcome;
    const told = { ...asked, sha256, loadId, version, shipments, billingCost };
    await this.#tellLoad({ kind: 'load', at, ...told });
    return outcome;
  }

  /** Kept until the archive has it: who asks for the file again is told that it is loaded, and nobody would tell. */
  async #tellLoad(fact: Fact & { readonly kind: 'load' }): Promise<void> {
    this.#untold.set(fact.invoiceId, fact);
    await this.#archive.putFact(fact);
    this.#untold.delete(fact.invoiceId);
    await this.#store.loadTold?.(fact.loadId);
  }

  async #beingTold(): Promise<(load: HeldRecord) => boolean> {
    const loading = new Set(this.#loading);
    const untold = await this.#store.unrecordedLoads?.();
    return ({ subject, invoiceId }) => loading.has(invoiceId ?? '') || untold?.has(Number(subject)) === true;
  }

  async #fence(invoiceId: string): Promise<{ isVoided: boolean; hasRows: boolean }> {
    const id = uuidOrNull(invoiceId);
    if (id === null) return { isVoided: false, hasRows: false };
    const [row] = await this.#store.ledgers.all('invoice-fence', { invoice_id: id });
    return { isVoided: row?.is_voided === true, hasRows: row?.has_rows === true };
  }

  /** A fact is true once the archive has it; the ledger reads it from there, as a rebuild would. */
  async #tell(fact: Fact): Promise<void> {
    await this.#archive.putFact(fact);
    await this.ingestArchive();
  }

  #at(): string {
    return this.#now().toISOString();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
