/** The warehouse's contract: what the one writer can be asked to do. Implemented over a DuckDB file and over DuckLake. */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { ArchivedFile, CsvFinding, CsvTolerance } from '../lib/wire/csv-file.ts';
import type { FileSource, InvoiceHeader, InvoiceState, WebhookStatus } from '../lib/wire/names.ts';

export interface LoadRequest {
  readonly invoiceId: string;
  /** Names the file in the archive. */
  readonly sha256: string;
  readonly source: FileSource;
  /** What the event or the regenerate answer announced; null for export-csv and imported files. */
  readonly announcedSha256: string | null;
  /** The hash that was announced where it was that of the file as HTTP encoded it; missing or null: it was not. */
  readonly encodedSha256?: string | null;
  readonly eventId: string | null;
  readonly workflowRunId: string | null;
  /** A person says that a file is to be loaded although a spreadsheet seems to have changed its cells; missing: no. */
  readonly acceptsSpreadsheet?: boolean;
}

/** How sure we are that the rows are what was billed. */
export type Proof =
  | 'hash'
  | 'header'
  /** No hash, and a spreadsheet seems to have changed its cells: a person accepted that. */
  | 'accepted'
  | 'unproved';

export interface Discrepancy {
  /** `shipment-count`, `total-amount`, `status-contradicts-type`, `no-final-line-end`, … */
  readonly rule: string;
  readonly stated: string;
  readonly found: string;
}

/** What counts in place of a file whose proof is weaker, or because a person chose it (ADR 17). */
export interface OutrankedBy {
  /** null: no version counts, and the service named another hash than the file's. */
  readonly version: number | null;
  /** The hash of that version, or the one that the service named. */
  readonly sha256: string;
  readonly proof: 'chosen' | 'announced' | 'named' | 'none';
}

/** What a load put into the warehouse, or had put there before. */
export interface LoadedRows {
  readonly loadId: number;
  readonly version: number;
  readonly shipments: number;
  /** Exact decimal text, of the rows in `currencyCode`. */
  readonly billingCost: string;
  readonly currencyCode: string;
  readonly proof: Proof;
  readonly discrepancies: readonly Discrepancy[];
  /** null: it counts, or does not for another reason than its proof. */
  readonly outrankedBy: OutrankedBy | null;
  readonly isDenied: boolean;
  readonly isDamaged: boolean;
}

/** The file breaks a rule; nothing of it was loaded. The first 100 findings, in order of the file, and the count of all. */
export interface Rejection {
  readonly outcome: 'rejected';
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  /** Nobody looked for more than these: there may be others. */
  readonly isCutOff?: boolean;
  /** What the partner could tolerate (`BILLSYNC_CSV_TOLERATE`) so that the file is read; left out when that would not help. */
  readonly neededTolerances?: readonly CsvTolerance[];
}

/** What comes of loading a file. */
export type FileLoadOutcome =
  | ({ readonly outcome: 'loaded' } & LoadedRows)
  /** The invoice is voided: nothing was loaded, nothing will be. */
  | { readonly outcome: 'voided' }
  | Rejection
  /** No announced hash, and count or sum contradict the header. */
  | { readonly outcome: 'contradicted'; readonly discrepancies: readonly Discrepancy[] };

/** What comes of being asked for it, perhaps again. */
export type LoadOutcome =
  | FileLoadOutcome
  /** `countingVersion`: the version that totals see, which may be another than this; null: none. */
  | ({ readonly outcome: 'already_loaded'; readonly countingVersion: number | null } & LoadedRows);

/** A file by what the service says of it. */
export interface NamedFile {
  readonly sha256: string;
  readonly sizeBytes: number;
}

export interface FileToCheck {
  /** In lower case. */
  readonly invoiceId: string;
  readonly file: ArchivedFile;
  /** Of the file on this machine; it need not lie in the archive. */
  readonly csvPath: string;
  /** What the service says of the invoice and the ledgers may not have heard; null: it was not asked, or knows none. */
  readonly details: {
    readonly status: WebhookStatus | null;
    readonly header: Partial<InvoiceHeader>;
    /** The hash that the service names for the invoice's file; missing or null: none. */
    readonly hash?: NamedFile | null;
  } | null;
  /** See `LoadRequest`. */
  readonly acceptsSpreadsheet?: boolean;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** What would come of loading it; `checked`: it would be loaded, with this to show for it. */
export type CheckOutcome =
  | LoadOutcome
  | ({ readonly outcome: 'checked' } & Omit<LoadedRows, 'loadId' | 'version'>);

/**
 * On whose word a void stands. `event`: an event's alone, and the service is to be asked. `details`: the service says
 * so. `unanswered`: it cannot be asked. `contradicted`: it denied it to the end, and a person has to decide.
 */
export type VoidBasis = 'event' | 'details' | 'unanswered' | 'contradicted';

/** One invoice as the warehouse knows it; the columns of the view `invoices` in camelCase. */
export interface InvoiceSummary {
  readonly invoiceId: string;
  /** Whose invoice it is; null when no event told (an imported file). */
  readonly partnerId: string | null;
  readonly header: Partial<InvoiceHeader>;
  readonly state: InvoiceState;
  readonly reasonCode: string | null;
  readonly reason: string | null;
  /** On whose word it is voided; null: it is not. */
  readonly voidBasis: VoidBasis | null;
  /** When a person last undid a void; null: nobody did. */
  readonly restoredAt: string | null;
  readonly stateSince: string;
  readonly firstSeenAt: string;
  readonly loadedSha256: string | null;
  readonly loadedVersion: number | null;
  readonly shipments: number | null;
  readonly billingCost: string | null;
}

/** Where an invoice stands, for whoever compares very many of them with what the service says. */
export interface LedgerStatus {
  /** In lower case. */
  readonly invoiceId: string;
  readonly state: InvoiceState;
  /** What header and details state; null while nobody said. Decimal text. */
  readonly statedTotal: string | null;
  readonly statedShipments: number | null;
  /** What its rows hold; null while none are loaded. Decimal text. */
  readonly billingCost: string | null;
  readonly shipments: number | null;
  /** The last question about it found no answer, or none that could be understood. */
  readonly isUnanswered: boolean;
}

export interface DueInvoice {
  readonly partnerId: string;
  readonly invoiceId: string;
}

export interface DueRequest {
  /** ISO 8601 UTC. */
  readonly until: string;
  /** At most so many of what is asked or tried again; the others stay due. */
  readonly limit: number;
  /** How many days after the invoice date a loaded invoice is asked about. */
  readonly recheckDays: number;
  /** Reasons to need a person that time does not heal. */
  readonly neverRetried: readonly string[];
  /** Whose invoices those are that nobody announced; null: nobody's. */
  readonly partnerId: string | null;
  /** Whether a void that only an event reported is to be asked about; missing: it is. */
  readonly confirmVoids?: boolean;
}

export interface DueInvoices {
  /** All that a workflow should be open for. */
  readonly unfinished: readonly DueInvoice[];
  /** Loaded: daily for a week, then weekly; and whose void a person undid, once. */
  readonly toRecheck: readonly DueInvoice[];
  /** Waiting for a person: daily. */
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
}

interface DecisionOf {
  readonly invoiceId: string;
  /** Who decides, as the machine knows them, and why in their words. */
  readonly by: string;
  readonly reason: string;
  /** Says what would come of it, and writes nothing. */
  readonly isDryRun: boolean;
}

export type Decision = DecisionOf &
  (
    | { readonly kind: 'restore' }
    /** This version counts until a file is announced after the decision. */
    | { readonly kind: 'use-version'; readonly version: number }
  );

export interface Decided {
  /** What was decided, or why it was not. */
  readonly outcome:
    | 'done'
    | 'unknown-invoice'
    | 'not-voided'
    /** The service itself says that the invoice is void: nobody here may add it up. */
    | 'voided-by-service'
    | 'no-such-version'
    | 'counts-already';
  /** Of the invoice afterwards; null: it is unknown. */
  readonly state: InvoiceState | null;
  readonly partnerId: string | null;
  /** Which there are. */
  readonly versions: readonly number[];
}

export interface Publication {
  readonly sequence: number;
  readonly publishedAt: string;
  readonly path: string;
  readonly invoices: number;
  readonly shipments: number;
  /** Write-ahead logs that lay beside the file or its kept copies and were removed. */
  readonly removedWals?: readonly string[];
}

/** One line of what `verify` found: what the warehouse holds against what the archive proves. */
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
  /** Loads whose file was purged: their rows were held against what was recorded of them, no longer against the file. */
  readonly purged?: number;
  readonly drift: readonly Drift[];
  /** How many there are, when `drift` has only the first of them. */
  readonly driftInAll?: number;
  /** Recorded discrepancies are listed, they are not drift. */
  readonly discrepancies: number;
}

/** A file that no total needs. */
export interface RemovableFile {
  readonly sha256: string;
  readonly sizeBytes: number;
  /** In lower case. */
  readonly invoiceId: string;
  readonly invoiceNumber: string | null;
  readonly tenantId: string | null;
  readonly partnerTenantId: string | null;
  readonly why: 'voided' | 'replaced' | 'never-loaded';
  /** What it was loaded as; null: it never was. Decimal text, of the rows in `currencyCode`. */
  readonly rows: {
    readonly shipments: number;
    readonly billingCost: string;
    readonly currencyCode: string | null;
  } | null;
}

/** What housekeeping did. */
export interface Tidied {
  readonly mergedFiles: number;
  readonly removedFiles: number;
  /** Loads that never came to count, their writer having died. */
  readonly removedLoads: number;
}

export interface IngestRequest {
  /**
   * Facts that change no invoice (where a file came from, that it was loaded, a duplicate) are left to the next call unless others
   * came with them: for who needs to know what was heard of an invoice. Left out: everything is taken in.
   */
  readonly deferFacts?: boolean;
}

export interface Warehouse {
  /**
   * Takes in what the archive has and the ledgers have not, of every kind: the one way in which events and facts get there.
   * Who asks while others do shares their transaction. Idempotent.
   */
  ingestArchive(options?: IngestRequest): Promise<{ readonly events: number }>;
  /** What the details endpoint answered: header fields and status; writes the fact first. */
  recordDetails(details: {
    readonly invoiceId: string;
    readonly status: WebhookStatus | null;
    readonly unknownStatus?: string | null;
    readonly header: Partial<InvoiceHeader>;
  }): Promise<void>;
  /** The hash of the invoice's file, as the service answers now; writes the fact first. */
  recordHash(named: NamedFile & { readonly invoiceId: string }): Promise<void>;
  load(request: LoadRequest): Promise<LoadOutcome>;
  /** What `load` would answer of a file that need not lie in the archive. Writes nothing. */
  check(file: Omit<FileToCheck, 'at'>): Promise<CheckOutcome>;
  /** Rows stay, totals no longer see them. Idempotent. */
  voidInvoice(invoiceId: string): Promise<{ readonly hadRows: boolean }>;
  markNeedsAttention(request: {
    readonly invoiceId: string;
    readonly code: string;
    readonly reason: string;
  }): Promise<void>;
  /** Ends needs_attention: the state is derived again from events and loads. */
  clearNeedsAttention(invoiceId: string): Promise<void>;
  /** What goes wrong while work goes on; null: it goes well again. The state stays what it is. */
  recordFailure(
    invoiceId: string,
    failure: { readonly code: string; readonly reason: string } | null,
  ): Promise<void>;
  /** What only a person may decide: a void undone, an older version that counts. */
  decide(decision: Decision): Promise<Decided>;
  invoice(invoiceId: string): Promise<InvoiceSummary | null>;
  invoices(filter?: { readonly states?: readonly InvoiceState[] }): Promise<readonly InvoiceSummary[]>;
  /** Of those that something is known of, by one look at the ledger; in no order. */
  ledgerStatuses(invoiceIds: readonly string[]): Promise<readonly LedgerStatus[]>;
  /** What reconciliation has to look after. */
  due(request: DueRequest): Promise<DueInvoices>;
  /** Asked at this instant (ISO 8601 UTC), these are due again a period later, not in the next run. */
  recordServiceCheck(invoiceIds: readonly string[], askedAt: string): Promise<void>;
  verify(options: {
    readonly full: boolean;
    readonly onProgress?: (done: number, of: number) => void;
  }): Promise<Verification>;
  /** Files that reports, as known on any instant from this one (ISO 8601 UTC) on, do without. */
  removableFiles(before: string): Promise<readonly RemovableFile[]>;
  /** CHECKPOINT, copy, prove, rename; everything committed before the call is in it. */
  publish(): Promise<Publication>;
  /** Housekeeping of a lake, beside writers and readers; null: another process is at it. Over one file there is none. */
  tidy?(): Promise<Tidied | null>;
  /** Which other processes hold locks that this one has waited for, for a while; null: it does not wait. */
  blockedBy?(): Promise<string | null>;
  /** Called after every commit that changes what readers see. */
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

/* What a warehouse is opened and made again with, and what is said of it: the same for a DuckDB file and a lake. */

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
  /** Stands in the lock file; a refusal names it. */
  readonly role?: string;
  /** Of a lake: no other writer beside this one, as a file never has one; later ones wait until it is closed. */
  readonly isAlone?: boolean;
  /** How long a living owner of the lock is waited for; 0 by default. */
  readonly lockPatienceMs?: number;
  /** How long loads and events that come while others are written, or after several were, wait for more company; 0 by default (ADR 15). */
  readonly lingerMs?: number;
  /** Other than usual for tests, whose files are small: from how many records on a file is read in chunks (ADR 16). */
  readonly recordsPerCut?: number;
  /** Of the disk, left to the inbox; 32 MiB by default. */
  readonly reservedBytes?: number;
  /** DuckDB cannot go on (disk full at a checkpoint, damage; a warehouse-corrupt): every later call fails; end the process. */
  readonly onFatal?: (error: Error) => void;
  /** Records of the archive could not be taken in: `verify` lists them, a person has to look. */
  readonly onSetAside?: OnSetAside;
  readonly onCatchUp?: (progress: CatchUpProgress) => void;
}

export interface CatchUpProgress {
  readonly events: number;
  readonly facts: number;
  readonly loadsDone: number;
  readonly loadsOf: number;
}

export interface SetAside {
  /** Where in the archive, or which record. */
  readonly place: string;
  readonly why: string;
}

/** Is told of each once; there is always one at least. */
export type OnSetAside = (records: readonly SetAside[]) => void;

export interface RebuildOptions {
  readonly settings: OpenWarehouseOptions['settings'];
  readonly archive: Archive;
  readonly log: Logger;
  readonly now?: () => Date;
  readonly onProgress?: (progress: CatchUpProgress) => void;
  /** Puts it in place also when it holds less than what it replaces. */
  readonly acceptLoss?: boolean;
}

/** Something that the archive tells of and that could not be made of it. */
export interface LostRecord {
  /** null when nobody can say whose it was. */
  readonly invoiceId: string | null;
  readonly loadId: number | null;
  readonly sha256: string | null;
  readonly why: string;
}

/** What could be made of the archive. */
export interface RebuildOutcome {
  readonly events: number;
  readonly loads: number;
  readonly invoices: number;
  /** That readers see. */
  readonly shipments: number;
  readonly losses: readonly LostRecord[];
  /** Whether it holds less than the warehouse that it would replace, as far as that can be read. */
  readonly holdsLess: boolean;
  /** Loads that were left out because their file was purged (ADR 20); none when it is missing. */
  readonly purgedLoads?: number;
  /** Of `loads`, those that a rebuild had made which was interrupted; missing: it began anew. */
  readonly loadsBefore?: number;
}

export interface CompletedRebuild extends RebuildOutcome {
  readonly publication: Publication;
  /** Where the old warehouse lies now; null when there was none. */
  readonly movedAside: string | null;
}
