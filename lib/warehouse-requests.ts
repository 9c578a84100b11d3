import type { CsvFinding, CsvTolerance } from './wire/csv-file.ts';
import type { FileSource, InvoiceState } from './wire/names.ts';

export interface LoadRequest {
  readonly invoiceId: string;
  readonly sha256: string;
  readonly source: FileSource;
  /** The announced hash is null for files of export-csv and for imported files. */
  readonly announcedSha256: string | null;
  /** Set when the announced hash is that of the file as HTTP encoded it. */
  readonly encodedSha256?: string | null;
  readonly eventId: string | null;
  readonly workflowRunId: string | null;
  /** Loads the file although a spreadsheet seems to have changed its cells; false by default. */
  readonly acceptsSpreadsheet?: boolean;
}

/** Why the rows are believed to be those that were billed. */
export type Proof =
  | 'hash'
  /** Only an event has named the file's hash: the service has not been asked yet, or does not answer. */
  | 'announced'
  | 'header'
  /** No hash is named, and an operator accepted that a spreadsheet seems to have changed the cells. */
  | 'accepted'
  | 'unproved';

export interface Discrepancy {
  readonly rule: string;
  readonly stated: string;
  readonly found: string;
}

/** The version that counts instead of the loaded one (ADR 17). */
export interface OutrankedBy {
  /** The version that counts; null when none does, and the service has named the hash of another file. */
  readonly version: number | null;
  readonly sha256: string;
  /** Why the version counts. With `later`, the service has named no hash of the two, and the version was loaded later. */
  readonly proof: 'chosen' | 'announced' | 'named' | 'later';
}

export interface LoadedRows {
  readonly loadId: number;
  readonly version: number;
  readonly shipments: number;
  /** The exact sum of the rows in `currencyCode`, as decimal text. */
  readonly billingCost: string;
  readonly currencyCode: string;
  readonly proof: Proof;
  readonly discrepancies: readonly Discrepancy[];
  /** `outrankedBy` is null when the version counts, or when no file counts. */
  readonly outrankedBy: OutrankedBy | null;
  readonly isDenied: boolean;
  readonly isDamaged: boolean;
}

export interface Rejection {
  readonly outcome: 'rejected';
  /** The first 100 findings, in the order of the file. */
  readonly findings: readonly CsvFinding[];
  readonly findingCount: number;
  readonly isCutOff?: boolean;
  /** The tolerances that would accept the file; missing when none would. */
  readonly neededTolerances?: readonly CsvTolerance[];
}

export type FileLoadOutcome =
  | ({ readonly outcome: 'loaded' } & LoadedRows)
  | { readonly outcome: 'voided' }
  | Rejection
  /** The file has no announced hash, and its count or sum contradicts the header. */
  | { readonly outcome: 'contradicted'; readonly discrepancies: readonly Discrepancy[] };

export type LoadOutcome = FileLoadOutcome | ({ readonly outcome: 'already_loaded' } & LoadedRows);

export type CheckOutcome =
  | LoadOutcome
  | ({ readonly outcome: 'checked' } & Omit<LoadedRows, 'loadId' | 'version'>);

export interface ImportRequest {
  readonly path: string;
  /** Null means the Invoice ID of the file's first row. */
  readonly invoiceId: string | null;
  readonly dryRun?: boolean;
  readonly acceptsSpreadsheet?: boolean;
}

export interface Imported {
  readonly invoiceId: string | null;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly records: number;
  readonly outcome: CheckOutcome;
}

/**
 * The basis of a void. `event`: only an event, and the service must confirm it. `details`: the service confirmed it.
 * `unanswered`: the service does not answer. `contradicted`: the service denies it, and an operator has to decide. Without
 * a void the invoice is out of totals: `unknown` to the service, or of a `foreign` partner.
 */
export type VoidBasis = 'event' | 'details' | 'unanswered' | 'contradicted' | ExclusionBasis;
export type ExclusionBasis = 'unknown' | 'foreign';

export function isExclusion(basis: VoidBasis | null): basis is ExclusionBasis {
  return basis === 'unknown' || basis === 'foreign';
}

export interface LedgerStatus {
  readonly invoiceId: string;
  readonly state: InvoiceState;
  /** The total that header and details state, as decimal text; null when they state none. */
  readonly statedTotal: string | null;
  readonly statedShipments: number | null;
  /** The sum of the loaded rows, as decimal text; null when nothing is loaded. */
  readonly billingCost: string | null;
  readonly shipments: number | null;
  /** The last request to the service about the invoice failed, or returned an unknown status. */
  readonly isUnanswered: boolean;
}

export interface DueInvoice {
  readonly partnerId: string;
  readonly invoiceId: string;
}

interface DecisionOf {
  readonly invoiceId: string;
  readonly by: string;
  readonly reason: string;
  readonly isDryRun: boolean;
}

export type Decision = DecisionOf &
  (
    | { readonly kind: 'restore' }
    /** The chosen version counts until the service names a file that it had not named before. */
    | { readonly kind: 'use-version'; readonly version: number }
  );

export interface Decided {
  readonly outcome:
    | 'done'
    | 'unknown-invoice'
    | 'not-voided'
    | 'voided-by-service'
    | 'no-such-version'
    | 'counts-already';
  readonly state: InvoiceState | null;
  readonly partnerId: string | null;
  readonly versions: readonly number[];
}

export interface Publication {
  readonly sequence: number;
  readonly publishedAt: string;
  readonly path: string;
  readonly invoices: number;
  readonly shipments: number;
  readonly removedWal?: string | null;
  /** The bytes that the copy wrote: 0 where the file system shares the blocks of both files; absent over a lake. */
  readonly copiedBytes?: number;
}

export interface Drift {
  readonly invoiceId: string;
  readonly rule: string;
  readonly expected: string;
  readonly found: string;
}

export interface Verification {
  readonly invoices: number;
  readonly shipments: number;
  readonly filesRead: number;
  /** The number of loads whose file was purged, of which only the recorded totals were compared. */
  readonly purged?: number;
  readonly drift: readonly Drift[];
  readonly driftInAll?: number;
  readonly discrepancies: number;
}
