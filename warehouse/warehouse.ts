/** The interface of the warehouse and the options to open and rebuild it, for a DuckDB file and for DuckLake. */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { ArchivedFile, CsvFinding, CsvTolerance } from '../lib/wire/csv-file.ts';
import type { FileSource, InvoiceHeader, InvoiceState, WebhookStatus } from '../lib/wire/names.ts';

export interface LoadRequest {
  readonly invoiceId: string;
  /** The archive's key of the file. */
  readonly sha256: string;
  readonly source: FileSource;
  /** Announced by the event or the regenerate response; null for export-csv and imported files. */
  readonly announcedSha256: string | null;
  /** The announced hash if it is that of the file as HTTP encoded it. */
  readonly encodedSha256?: string | null;
  readonly eventId: string | null;
  readonly workflowRunId: string | null;
  /** Load the file although a spreadsheet seems to have changed its cells; false by default. */
  readonly acceptsSpreadsheet?: boolean;
}

/** Why the rows are believed to be those that were billed. */
export type Proof =
  | 'hash'
  | 'header'
  /** No hash, and an operator accepted that a spreadsheet seems to have changed the cells. */
  | 'accepted'
  | 'unproved';

export interface Discrepancy {
  /** `shipment-count`, `total-amount`, `status-contradicts-type`, `no-final-line-end`, … */
  readonly rule: string;
  readonly stated: string;
  readonly found: string;
}

/** The version that counts instead, because its proof is stronger or an operator chose it (ADR 17). */
export interface OutrankedBy {
  /** null: no version counts, and the service named the hash of another file. */
  readonly version: number | null;
  /** Hash of that version, or the hash that the service named. */
  readonly sha256: string;
  readonly proof: 'chosen' | 'announced' | 'named' | 'none';
}

export interface LoadedRows {
  readonly loadId: number;
  readonly version: number;
  readonly shipments: number;
  /** Exact decimal text, of the rows in `currencyCode`. */
  readonly billingCost: string;
  readonly currencyCode: string;
  readonly proof: Proof;
  readonly discrepancies: readonly Discrepancy[];
  /** null: it counts, or its proof is not the reason that it does not. */
  readonly outrankedBy: OutrankedBy | null;
  readonly isDenied: boolean;
  readonly isDamaged: boolean;
}

/** The file breaks a rule; nothing of it was loaded. */
export interface Rejection {
  readonly outcome: 'rejected';
  /** The first 100, in the order of the file. */
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  /** The search ended at the limit; there may be more findings. */
  readonly isCutOff?: boolean;
  /** The values of `BILLSYNC_CSV_TOLERATE` that would accept the file; missing: none would. */
  readonly neededTolerances?: readonly CsvTolerance[];
}

export type FileLoadOutcome =
  | ({ readonly outcome: 'loaded' } & LoadedRows)
  /** The invoice is voided; nothing was loaded. */
  | { readonly outcome: 'voided' }
  | Rejection
  /** Without an announced hash, and count or sum contradict the header. */
  | { readonly outcome: 'contradicted'; readonly discrepancies: readonly Discrepancy[] };

export type LoadOutcome =
  | FileLoadOutcome
  /** `countingVersion`: the version in totals, which may be another one; null: none. */
  | ({ readonly outcome: 'already_loaded'; readonly countingVersion: number | null } & LoadedRows);

/** A file as the service describes it. */
export interface NamedFile {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export interface FileToCheck {
  /** In lower case. */
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  /** On this machine; the file need not be in the archive. */
  readonly csvPath: string;
  /** The service's current response; null: it was not asked, or does not know the invoice. */
  readonly details: {
    readonly status: WebhookStatus | null;
    readonly header: Partial<InvoiceHeader>;
    /** The file that the service names; missing or null: none. */
    readonly hash?: NamedFile | null;
  } | null;
  /** See `LoadRequest`. */
  readonly acceptsSpreadsheet?: boolean;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** `checked`: the file would be loaded, with this result. */
export type CheckOutcome =
  | LoadOutcome
  | ({ readonly outcome: 'checked' } & Omit<LoadedRows, 'loadId' | 'version'>);

/**
 * The basis of a void. `event`: only an event, and the service has to be asked. `details`: the service confirmed it.
 * `unanswered`: the service cannot be asked. `contradicted`: the service denies it, and an operator has to decide.
 */
export type VoidBasis = 'event' | 'details' | 'unanswered' | 'contradicted';

/** A row of the view `invoices`. */
export interface InvoiceSummary {
  readonly invoiceId: string;
  /** null: unknown (an imported file). */
  readonly partnerId: string | null;
  readonly header: Partial<InvoiceHeader>;
  readonly state: InvoiceState;
  readonly reasonCode: string | null;
  readonly reason: string | null;
  /** null: not voided. */
  readonly voidBasis: VoidBasis | null;
  /** When an operator last undid a void. */
  readonly restoredAt: string | null;
  readonly stateSince: string;
  readonly firstSeenAt: string;
  readonly loadedSha256: string | null;
  readonly loadedVersion: number | null;
  readonly shipments: number | null;
  readonly billingCost: string | null;
}

/** The state and totals of an invoice, to compare many invoices with the service. */
export interface LedgerStatus {
  /** In lower case. */
  readonly invoiceId: string;
  readonly state: InvoiceState;
  /** From header and details; null: not stated. Decimal text. */
  readonly statedTotal: string | null;
  readonly statedShipments: number | null;
  /** From the rows; null: not loaded. Decimal text. */
  readonly billingCost: string | null;
  readonly shipments: number | null;
  /** The last request to the service about it failed, or returned an unknown status. */
  readonly isUnanswered: boolean;
}

export interface DueInvoice {
  readonly partnerId: string;
  readonly invoiceId: string;
}

export interface DueRequest {
  /** ISO 8601 UTC. */
  readonly until: string;
  /** For rechecks and for retries; the others stay due. */
  readonly limit: number;
  /** Loaded invoices are rechecked until this many days after the invoice date. */
  readonly recheckDays: number;
  /** Reason codes that a retry does not resolve. */
  readonly neverRetried: readonly string[];
  /** The partner of invoices that no event announced; null: such invoices are left out. */
  readonly partnerId: string | null;
  /** Whether voids that only an event reported are unfinished; true by default. */
  readonly confirmVoids?: boolean;
}

export interface DueInvoices {
  /** Invoices that should have an open workflow. */
  readonly unfinished: readonly DueInvoice[];
  /** Loaded invoices, daily for a week and then weekly; restored ones once. */
  readonly toRecheck: readonly DueInvoice[];
  /** Invoices that need attention, daily. */
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
}

interface DecisionOf {
  readonly invoiceId: string;
  /** The user name of the operator. */
  readonly by: string;
  readonly reason: string;
  /** Returns the outcome and writes nothing. */
  readonly isDryRun: boolean;
}

export type Decision = DecisionOf &
  (
    | { readonly kind: 'restore' }
    /** The version counts until a file is announced after the decision. */
    | { readonly kind: 'use-version'; readonly version: number }
  );

export interface Decided {
  readonly outcome:
    | 'done'
    | 'unknown-invoice'
    | 'not-voided'
    /** The service itself states the void. */
    | 'voided-by-service'
    | 'no-such-version'
    | 'counts-already';
  /** Afterwards; null: unknown invoice. */
  readonly state: InvoiceState | null;
  readonly partnerId: string | null;
  /** The loaded versions. */
  readonly versions: readonly number[];
}

export interface Publication {
  readonly sequence: number;
  readonly publishedAt: string;
  readonly path: string;
  readonly invoices: number;
  readonly shipments: number;
  /** Write-ahead logs beside the file or its kept copies that were removed. */
  readonly removedWals?: readonly string[];
}

/** A difference between the warehouse and the archive. */
export interface Drift {
  readonly invoiceId: string;
  /** `rows`, `sum`, `hash`, `currency`, `invoice-id`, `file-missing`, `load-missing`, `orphan-rows`, … */
  readonly rule: string;
  readonly expected: string;
  readonly found: string;
}

export interface Verification {
  readonly invoices: number;
  readonly shipments: number;
  readonly filesRead: number;
  /** Loads whose file was purged: their rows were compared with the recorded totals only. */
  readonly purged?: number;
  readonly drift: readonly Drift[];
  /** The number of all, if `drift` is cut off. */
  readonly driftInAll?: number;
  /** Recorded discrepancies; they are not drift. */
  readonly discrepancies: number;
}

/** A file that no total depends on. */
export interface RemovableFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** In lower case. */
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly tenantId: string | null;
  readonly partnerTenantId: string | null;
  readonly why: 'voided' | 'replaced' | 'never-loaded';
  /** null: never loaded. Decimal text, of the rows in `currencyCode`. */
  readonly rows: {
    readonly shipments: number;
    readonly billingCost: string;
    readonly currencyCode: string | null;
  } | null;
}

/** The result of `tidy`. */
export interface Tidied {
  readonly mergedFiles: number;
  readonly removedFiles: number;
  /** Uncommitted loads of writers that crashed. */
  readonly removedLoads: number;
}

export interface IngestRequest {
  /** Leaves facts that change no invoice (files, loads, duplicates) to the next call, unless others came with them. */
  readonly deferFacts?: boolean;
}

export interface Warehouse {
  /** Ingests new events and facts of the archive. Idempotent; concurrent calls share a transaction. */
  ingestArchive(options?: IngestRequest): Promise<{ readonly events: number }>;
  /** Records a response of the details endpoint, in the archive first. */
  recordDetails(details: {
    readonly invoiceId: string;
    readonly status: WebhookStatus | null;
    readonly unknownStatus?: string | null;
    readonly header: Partial<InvoiceHeader>;
  }): Promise<void>;
  /** Records the file that the service names now, in the archive first. */
  recordHash(named: NamedFile & { readonly invoiceId: string }): Promise<void>;
  load(request: LoadRequest): Promise<LoadOutcome>;
  /** The outcome that `load` would have. Writes nothing; the file need not be in the archive. */
  check(file: Omit<FileToCheck, 'at'>): Promise<CheckOutcome>;
  /** Rows remain, but are no longer part of totals. Idempotent. @throws void-not-seen */
  voidInvoice(invoiceId: string): Promise<{ readonly hadRows: boolean }>;
  markNeedsAttention(request: {
    readonly invoiceId: string;
    readonly code: string;
    readonly reason: string;
  }): Promise<void>;
  /** The state is derived from events and loads again. */
  clearNeedsAttention(invoiceId: string): Promise<void>;
  /** Records the current failure, or null for its end. Does not change the state. */
  recordFailure(
    invoiceId: string,
    failure: { readonly code: string; readonly reason: string } | null,
  ): Promise<void>;
  /** Undoes a void or chooses a version for an operator. */
  decide(decision: Decision): Promise<Decided>;
  invoice(invoiceId: string): Promise<InvoiceSummary | null>;
  invoices(filter?: { readonly states?: readonly InvoiceState[] }): Promise<readonly InvoiceSummary[]>;
  /** Without unknown invoices; in no order. */
  ledgerStatuses(invoiceIds: readonly string[]): Promise<readonly LedgerStatus[]>;
  /** Invoices for reconciliation. */
  due(request: DueRequest): Promise<DueInvoices>;
  /** The service was asked about these invoices; they are due again one period later. @param checkedAt ISO 8601 UTC */
  recordServiceCheck(invoiceIds: readonly string[], checkedAt: string): Promise<void>;
  /** Where the current file of an invoice differs from its announcement, by invoice. */
  announcementDifferences(): Promise<ReadonlyMap<string, readonly string[]>>;
  verify(options: {
    readonly full: boolean;
    readonly onProgress?: (done: number, of: number) => void;
  }): Promise<Verification>;
  /** Files that no report as known from `before` on needs (ISO 8601 UTC). */
  removableFiles(before: string): Promise<readonly RemovableFile[]>;
  /** Contains everything committed before the call. */
  publish(): Promise<Publication>;
  /** Only for a lake: merges and removes files. null: another process does it now. */
  tidy?(): Promise<Tidied | null>;
  /** The processes whose locks this one has been waiting for; null: it does not wait. */
  blockedBy?(): Promise<string | null>;
  /** Called after every commit that is visible to readers. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

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
  /** Written to the lock file; another process reports it. */
  readonly role?: string;
  /** Only for a lake: no other writer at the same time. */
  readonly isAlone?: boolean;
  /** How long to wait for the lock; 0 by default. */
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
  readonly onCatchUp?: (progress: CatchUpProgress) => void;
}

export interface CatchUpProgress {
  readonly events: number;
  readonly facts: number;
  readonly loadsDone: number;
  readonly loadsOf: number;
}

/** A record of the archive that cannot be ingested; `verify` lists all of them. */
export interface SetAside {
  /** The place in the archive, or the record. */
  readonly place: string;
  readonly why: string;
}

/** Called once for each record, with one at least. */
export type OnSetAside = (records: readonly SetAside[]) => void;

export interface RebuildOptions {
  readonly settings: OpenWarehouseOptions['settings'];
  readonly archive: Archive;
  readonly log: Logger;
  readonly now?: () => Date;
  readonly onProgress?: (progress: CatchUpProgress) => void;
  /** Replaces the warehouse even if the new one contains less. */
  readonly acceptLoss?: boolean;
}

/** A record that the rebuild could not restore from the archive. */
export interface LostRecord {
  /** null: unknown. */
  readonly invoiceId: string | null;
  readonly loadId: number | null;
  readonly sha256: string | null;
  readonly why: string;
}

export interface RebuildOutcome {
  readonly events: number;
  readonly loads: number;
  readonly invoices: number;
  /** In totals. */
  readonly shipments: number;
  readonly losses: readonly LostRecord[];
  /** Whether it contains less than the warehouse that it would replace, as far as that is readable. */
  readonly holdsLess: boolean;
  /** Loads that were left out because their file was purged (ADR 20); missing: none. */
  readonly purgedLoads?: number;
  /** Loads that an interrupted rebuild had made; missing: no rebuild was resumed. */
  readonly loadsBefore?: number;
}

export interface CompletedRebuild extends RebuildOutcome {
  readonly publication: Publication;
  /** The path of the previous warehouse; null: there was none. */
  readonly movedAside: string | null;
}
