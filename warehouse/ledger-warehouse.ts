/**
 * What `Warehouse` promises, over any store: facts go to the archive first and into the ledgers from there, a file is
 * loaded once, and closing waits for what is at work. Where rows and ledgers lie is the store's affair.
 */

import type { Archive, Fact } from '../archive/archive.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Logger } from '../lib/log/log.ts';
import type { CsvTolerance } from '../lib/wire/csv-file.ts';
import type { InvoiceHeader, InvoiceState, WebhookStatus } from '../lib/wire/names.ts';
import { uuidOrNull } from '../lib/wire/text.ts';
import { reportSetAside } from './catch-up.ts';
import { ReadWriteLock } from './duckdb/locks.ts';
import { WarehouseError } from './errors.ts';
import { InvoiceLoads } from './invoice-loads.ts';
import { checkDecision } from './ledger/decide.ts';
import type { OnMissing } from './ledger/ingest.ts';
import { readInvoiceLines } from './ledger/invoice-states.ts';
import {
  readDue,
  readInvoices,
  readInvoicesOf,
  readLedgerStatuses,
  readRemovableFiles,
  recordServiceCheck,
} from './ledger/read-invoices.ts';
import { checkFile } from './load/check-file.ts';
import type { Store } from './store.ts';
import { verifyWarehouse } from './verify.ts';
import type {
  CheckOutcome,
  Decided,
  Decision,
  DueInvoices,
  DueRequest,
  FileToCheck,
  IngestRequest,
  InvoiceSummary,
  LedgerStatus,
  LoadOutcome,
  LoadRequest,
  NamedFile,
  OnSetAside,
  OpenWarehouseOptions,
  Publication,
  RemovableFile,
  Tidied,
  Verification,
  Warehouse,
} from './warehouse.ts';

export class LedgerWarehouse implements Warehouse {
  readonly #store: Store;
  readonly #archive: Archive;
  readonly #loads: InvoiceLoads;
  /** What the partner accepts besides the specified form of a CSV. */
  readonly #tolerances: readonly CsvTolerance[];
  readonly #log: Logger;
  readonly #now: () => Date;
  readonly #onSetAside: OnSetAside | undefined;
  /** Shared by all who are at work, exclusive for the end. What holds it never takes it again. */
  readonly #open = new ReadWriteLock();
  readonly #listeners: (() => void)[] = [];
  readonly #ingesting: GroupCommit<IngestRequest, { readonly events: number }>;
  readonly #reading = new GroupCommit((invoiceIds: readonly string[]) =>
    readInvoicesOf(this.#store.ledgers, invoiceIds),
  );
  #closed: Promise<void> | null = null;

  constructor(store: Store, options: OpenWarehouseOptions) {
    this.#store = store;
    this.#ingesting = new GroupCommit(
      async (asked) => {
        const ingested = await this.#ingest({
          deferFacts: asked.every((one) => one.deferFacts === true),
        });
        return asked.map(() => ingested);
      },
      { splitsOnFailure: false, lingerMs: options.lingerMs ?? 0 },
    );
    this.#archive = options.archive;
    this.#tolerances = options.settings.csvTolerate ?? [];
    this.#log = options.log;
    this.#now = options.now ?? (() => new Date());
    this.#onSetAside = options.onSetAside;
    this.#loads = new InvoiceLoads({
      ...{ store, archive: options.archive, dataDir: options.settings.dataDir },
      ...{ tolerances: this.#tolerances, recordsPerCut: options.recordsPerCut, at: () => this.#at() },
    });
  }

  ingestArchive(request: IngestRequest = {}): Promise<{ readonly events: number }> {
    return this.#ingesting.do(request);
  }

  async recordDetails(details: {
    readonly invoiceId: string;
    readonly status: WebhookStatus | null;
    readonly unknownStatus?: string | null;
    readonly header: Partial<InvoiceHeader>;
  }): Promise<void> {
    await this.#tell({ kind: 'details', at: this.#at(), ...details });
  }

  async recordHash({
    invoiceId,
    sha256,
    sizeBytes,
  }: NamedFile & { readonly invoiceId: string }): Promise<void> {
    await this.#tell({ kind: 'hash-answered', at: this.#at(), invoiceId, sha256, sizeBytes });
  }

  async load(asked: LoadRequest): Promise<LoadOutcome> {
    const request = { ...asked, invoiceId: asked.invoiceId.toLowerCase() };
    const { invoiceId, sha256, source, announcedSha256 } = request;
    const found = await this.#loads.find(sha256);
    const load = () => this.#open.shared(() => this.#loads.load(request, found));
    const outcome = await load();
    if (outcome.outcome === 'loaded') this.#changed();
    const isOlder = outcome.outcome === 'already_loaded' && outcome.version !== outcome.countingVersion;
    if (!isOlder || source === 'event' || announcedSha256 !== sha256) return outcome;
    // The service names these bytes now, whatever it named when they were loaded.
    await this.recordHash({ invoiceId, sha256, sizeBytes: found.file.sizeBytes });
    return load();
  }

  check(asked: Omit<FileToCheck, 'at'>): Promise<CheckOutcome> {
    const file = { ...asked, invoiceId: asked.invoiceId.toLowerCase(), at: this.#at() };
    const places = { ledgers: this.#store.ledgers, tolerances: this.#tolerances };
    return this.#open.shared(() => checkFile(places, file));
  }

  async voidInvoice(invoiceId: string): Promise<{ readonly hadRows: boolean }> {
    const state = await this.#fence(invoiceId);
    if (!state.isVoided) {
      // Whoever says so has read it in an event or in the details; the ledger did not hear of it yet.
      await this.recordDetails({ invoiceId, status: 'voided', header: {} });
      // Before anyone is told that its shipments left the totals; the activity is repeated.
      if (state.hasRows && !(await this.#fence(invoiceId)).isVoided)
        throw new WarehouseError('void-not-seen', [invoiceId]);
    }
    return { hadRows: state.hasRows };
  }

  async markNeedsAttention(request: {
    readonly invoiceId: string;
    readonly code: string;
    readonly reason: string;
  }): Promise<void> {
    await this.#tell({ kind: 'attention', at: this.#at(), ...request });
  }

  async clearNeedsAttention(invoiceId: string): Promise<void> {
    this.#loads.resetAttempts(invoiceId);
    const invoice = await this.invoice(invoiceId);
    if (invoice?.state === 'needs_attention')
      await this.#tell({ kind: 'resolved', at: this.#at(), invoiceId });
  }

  async recordFailure(
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
    return this.#reading.do(invoiceId);
  }

  invoices(filter: { readonly states?: readonly InvoiceState[] } = {}): Promise<readonly InvoiceSummary[]> {
    return readInvoices(this.#store.ledgers, filter);
  }

  ledgerStatuses(invoiceIds: readonly string[]): Promise<readonly LedgerStatus[]> {
    return readLedgerStatuses(this.#store.ledgers, invoiceIds);
  }

  due(request: DueRequest): Promise<DueInvoices> {
    return readDue(this.#store.ledgers, request);
  }

  recordServiceCheck(invoiceIds: readonly string[], askedAt: string): Promise<void> {
    return this.#open.shared(() => recordServiceCheck(this.#store.ledgers, invoiceIds, askedAt));
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
      ingest: () => this.ingestArchive(),
      step,
      pendingLoads: () => this.#loads.pendingLoads(),
      ...options,
    });
  }

  removableFiles(before: string): Promise<readonly RemovableFile[]> {
    return this.#open.shared(() => readRemovableFiles(this.#store.rows, before));
  }

  publish(): Promise<Publication> {
    return this.#open.shared(() => this.#store.publish());
  }

  async tidy(): Promise<Tidied | null> {
    return this.#open.shared(async () => (await this.#store.tidy?.()) ?? null);
  }

  async blockedBy(): Promise<string | null> {
    return (await this.#store.blockedBy?.()) ?? null;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#open.exclusive(() => this.#store.close());
    return this.#closed;
  }

  async #ingest(request: IngestRequest): Promise<{ readonly events: number }> {
    const onMissing: OnMissing = (missing) => {
      for (const { invoiceId, loadId } of missing)
        this.#log.error({ invoiceId, loadId }, 'the archive records a load that is not in the warehouse');
    };
    const ingested = await this.#open.shared(() => this.#store.ingest({ ...request, onMissing }));
    reportSetAside(ingested, { log: this.#log, onSetAside: this.#onSetAside });
    if (ingested.changes > 0) this.#changed();
    return { events: ingested.events };
  }

  async #fence(invoiceId: string): Promise<{ isVoided: boolean; hasRows: boolean }> {
    const id = uuidOrNull(invoiceId);
    if (id === null) return { isVoided: false, hasRows: false };
    const [row] = await this.#store.ledgers.all('void-state', { invoice_id: id });
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
