/** The interface of the warehouse and the options to open and rebuild it, for a DuckDB file and for DuckLake. */

import type { Archive } from '../archive/archive.ts';
import type { Settings } from '../lib/config/settings.ts';
import type { Logger } from '../lib/log/log.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import type { InvoiceHeader, InvoiceState, WebhookStatus } from '../lib/wire/names.ts';
import type {
  CheckOutcome,
  Decided,
  Decision,
  DueInvoice,
  LedgerStatus,
  LoadOutcome,
  LoadRequest,
  Publication,
  Verification,
  VoidBasis,
} from '../lib/wire/warehouse-requests.ts';

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
