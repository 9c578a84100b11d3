/** A fact is written to the archive first and ingested from there. */

import type { Archive, Fact } from '../archive/archive.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import type { Logger } from '../lib/log/log.ts';
import { forEachBounded } from '../lib/semaphore.ts';
import type {
  CheckOutcome,
  Decided,
  Decision,
  LedgerStatus,
  LoadOutcome,
  LoadRequest,
  Publication,
  Verification,
} from '../lib/warehouse-requests.ts';
import type { CsvTolerance } from '../lib/wire/csv-file.ts';
import type { InvoiceState } from '../lib/wire/names.ts';
import { reportSetAside } from './catch-up.ts';
import { ReadWriteLock } from './duckdb/locks.ts';
import { WarehouseError } from './errors.ts';
import { checkDecision } from './ledger/decide.ts';
import type { IngestRequest, OnMissing, OnSetAside } from './ledger/ingest.ts';
import { readInvoiceLines } from './ledger/invoice-states.ts';
import type {
  DueInvoices,
  DueRequest,
  InvoiceSummary,
  RemovableFile,
  Unconfirmed,
} from './ledger/read-invoices.ts';
import {
  readDue,
  readInvoices,
  readInvoicesOf,
  readLedgerStatuses,
  readRemovableFiles,
  readUnconfirmed,
  recordServiceCheck,
} from './ledger/read-invoices.ts';
import type { FileToCheck } from './load/dry-run.ts';
import { checkFile } from './load/dry-run.ts';
import { InvoiceLoads } from './load-invoice.ts';
import type { OpenWarehouseOptions, Store, Tidied } from './store.ts';
import { verifyWarehouse } from './verify.ts';

export type { SetAside } from './ledger/ingest.ts';
export type { InvoiceSummary, RemovableFile } from './ledger/read-invoices.ts';

type FactAfterVersion = Extract<Fact, { readonly afterVersion?: number | undefined }>;
type Recorded<Kind extends Fact['kind']> = Omit<Extract<Fact, { readonly kind: Kind }>, 'kind' | 'at'>;

type Answered<Kind extends Fact['kind']> = { readonly kind: Kind } & Recorded<Kind>;
/** With `excluded` an invoice leaves every total, with `included` it returns to them. */
export type Answer = Answered<'hash-answered'> | Answered<'excluded'> | Answered<'included'>;

const FACTS_AT_ONCE = 16;

export class LedgerWarehouse {
  readonly #store: Store;
  readonly #archive: Archive;
  readonly #loads: InvoiceLoads;
  readonly #tolerances: readonly CsvTolerance[];
  readonly #log: Logger;
  readonly #now: () => Date;
  readonly #onSetAside: OnSetAside | undefined;
  /** Shared by work in progress, exclusive for closing; not reentrant. */
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
      async (requests) => {
        const ingested = await this.#ingest({
          deferFacts: requests.every((one) => one.deferFacts === true),
        });
        return requests.map(() => ingested);
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

  /** Idempotent; concurrent calls share a transaction. */
  ingestArchive(request: IngestRequest = {}): Promise<{ readonly events: number }> {
    return this.#ingesting.do(request);
  }

  recordDetails(details: Recorded<'details'>): Promise<void> {
    return this.#record({ kind: 'details', at: this.#at(), ...details });
  }

  recordHash(named: Recorded<'hash-answered'>): Promise<void> {
    return this.recordAnswers([{ kind: 'hash-answered', ...named }]);
  }

  /** Answers about any number of invoices, with one ingest. */
  async recordAnswers(answers: readonly Answer[]): Promise<void> {
    const at = this.#at();
    await this.#recordAllAfter(answers.map((answer) => ({ ...answer, at })));
  }

  async load(requested: LoadRequest): Promise<LoadOutcome> {
    const request = { ...requested, invoiceId: requested.invoiceId.toLowerCase() };
    const { invoiceId, sha256, source, announcedSha256 } = request;
    const found = await this.#loads.find(sha256);
    const load = () => this.#open.shared(() => this.#loads.load(request, found));
    const outcome = await load();
    if (outcome.outcome === 'loaded') this.#changed();
    const isNews =
      outcome.outcome === 'already_loaded' && (outcome.outrankedBy !== null || outcome.proof !== 'hash');
    if (!isNews || source === 'event' || announcedSha256 !== sha256) return outcome;
    // The service names this file now, though it named another one, or none, before.
    await this.recordHash({ invoiceId, sha256, sizeBytes: found.file.sizeBytes });
    return load();
  }

  /** The outcome that `load` would have. Writes nothing; the file need not be in the archive. */
  check(requested: Omit<FileToCheck, 'at'>): Promise<CheckOutcome> {
    const file = { ...requested, invoiceId: requested.invoiceId.toLowerCase(), at: this.#at() };
    const { rows, ledgers } = this.#store;
    const context = { rows, ledgers, tolerances: this.#tolerances };
    return this.#open.shared(() => checkFile(context, file));
  }

  /** Rows remain, but are no longer part of totals. Idempotent. @throws void-not-seen */
  async voidInvoice(invoiceId: string): Promise<{ readonly hadRows: boolean }> {
    const invoice = await this.invoice(invoiceId);
    const hadRows = invoice !== null && invoice.loadedVersion !== null;
    if (invoice === null || invoice.voidBasis === null) {
      // The caller knows of the void from an event or from details that are not ingested yet.
      await this.recordDetails({ invoiceId, status: 'voided', header: {} });
      // Checked before the void is reported as done; the activity is retried.
      if ((await this.invoice(invoiceId))?.voidBasis === null)
        throw new WarehouseError('void-not-seen', [invoiceId]);
    }
    return { hadRows };
  }

  markNeedsAttention(attention: Recorded<'attention'>): Promise<void> {
    return this.#recordAfter({ kind: 'attention', at: this.#at(), ...attention });
  }

  async clearNeedsAttention(invoiceId: string): Promise<void> {
    this.#loads.resetAttempts(invoiceId);
    const invoice = await this.invoice(invoiceId);
    if (invoice?.state === 'needs_attention')
      await this.#recordAfter({ kind: 'resolved', at: this.#at(), invoiceId });
  }

  unconfirmed(request: Parameters<typeof readUnconfirmed>[1]): Promise<Unconfirmed> {
    return readUnconfirmed(this.#store.ledgers, request);
  }

  /** null ends the current failure. Does not change the state. */
  recordFailure(invoiceId: string, failure: Omit<Recorded<'failure'>, 'invoiceId'> | null): Promise<void> {
    const record = { at: this.#at(), invoiceId };
    return this.#recordAfter(
      failure === null ? { kind: 'recovered', ...record } : { kind: 'failure', ...record, ...failure },
    );
  }

  async decide(requested: Decision): Promise<Decided> {
    const decision = { ...requested, invoiceId: requested.invoiceId.toLowerCase() };
    const { invoiceId } = decision;
    // The decision names what it has seen; records that the ledger lacks would be later than it.
    await this.ingestArchive();
    const lines = await this.#open.shared(() =>
      this.#store.ledgers.transaction((statements) => readInvoiceLines(statements, [invoiceId])),
    );
    const { fact, decided } = checkDecision(decision, lines.get(invoiceId), this.#at());
    if (fact === null || decision.isDryRun) return decided;
    await this.#record(fact);
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

  /** Of the invoices that alone have their number. @param invoiceIds ids of something else are left out */
  async invoiceNumbers(invoiceIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#store.ledgers.all('numbers-of-invoices', { invoice_ids: invoiceIds.join(',') });
    return new Map(rows.map((row) => [String(row.invoice_id), String(row.invoice_number)]));
  }

  due(request: DueRequest): Promise<DueInvoices> {
    return readDue(this.#store.ledgers, request);
  }

  /** @param checkedAt ISO 8601 UTC */
  recordServiceCheck(invoiceIds: readonly string[], checkedAt: string): Promise<void> {
    return this.#open.shared(() => recordServiceCheck(this.#store.ledgers, invoiceIds, checkedAt));
  }

  async announcementDifferences(): Promise<ReadonlyMap<string, readonly string[]>> {
    const differences = new Map<string, string[]>();
    for (const { invoice_id, rule, stated, found } of await this.#store.ledgers.all(
      'announcement-differences',
    )) {
      const name = rule === 'announced-hash' ? 'hash' : 'size';
      const others = differences.get(String(invoice_id)) ?? [];
      differences.set(String(invoice_id), [...others, `${name} ${stated} announced, ${found} received`]);
    }
    return differences;
  }

  async verify(options: {
    readonly full: boolean;
    readonly onProgress?: (done: number, of: number) => void;
  }): Promise<Verification> {
    const store = this.#store;
    // In steps, so that publishing and closing wait for one step only.
    const step = <T>(work: () => Promise<T>): Promise<T> => this.#open.shared(() => store.aroundStep(work));
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

  /** Files that no report as known from `before` on needs (ISO 8601 UTC). */
  removableFiles(before: string): Promise<readonly RemovableFile[]> {
    return this.#open.shared(() => readRemovableFiles(this.#store.rows, before));
  }

  publish(): Promise<Publication> {
    return this.#open.shared(() => this.#store.publish(() => this.#loads.recordedTo()));
  }

  /** null: another process does it now, or no lake. */
  async tidy(): Promise<Tidied | null> {
    return this.#open.shared(async () => (await this.#store.tidy?.()) ?? null);
  }

  /** Runs `work` in one process at a time. @returns null when another one is at it */
  alone<T>(work: () => Promise<T>): Promise<T | null> {
    return this.#store.alone === undefined ? work() : this.#store.alone(work);
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

  /** The ledgers ingest the facts from the archive, as in a rebuild. */
  async #record(...facts: readonly Fact[]): Promise<void> {
    await forEachBounded(facts, FACTS_AT_ONCE, (fact) => this.#archive.putFact(fact));
    await this.ingestArchive();
  }

  #recordAfter(fact: FactAfterVersion): Promise<void> {
    return this.#recordAllAfter([fact]);
  }

  async #recordAllAfter(facts: readonly FactAfterVersion[]): Promise<void> {
    const invoices = await Promise.all(facts.map(({ invoiceId }) => this.invoice(invoiceId)));
    await this.#record(
      ...facts.map((fact, at) => ({ ...fact, afterVersion: invoices[at]?.lastVersion ?? 0 })),
    );
  }

  #at(): string {
    return this.#now().toISOString();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

export type Warehouse = Pick<LedgerWarehouse, keyof LedgerWarehouse>;
