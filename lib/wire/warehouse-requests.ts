/** Requests to the warehouse and their results, as far as they also pass through Temporal. */

import type { CsvFinding, CsvTolerance } from './csv-file.ts';
import type { FileSource, InvoiceState } from './names.ts';

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

/** `checked`: the file would be loaded, with this result. */
export type CheckOutcome =
  | LoadOutcome
  | ({ readonly outcome: 'checked' } & Omit<LoadedRows, 'loadId' | 'version'>);

export interface ImportRequest {
  /** Copied, never moved. */
  readonly path: string;
  /** null: the Invoice ID of the file's first row. */
  readonly invoiceId: string | null;
  /** Checks the file and writes nothing. */
  readonly dryRun?: boolean;
  /** Loads the file although a spreadsheet seems to have changed its cells. */
  readonly acceptsSpreadsheet?: boolean;
}

export interface Imported {
  /** null: neither the request nor the file names an invoice. */
  readonly invoiceId: string | null;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Without the header row. */
  readonly records: number;
  readonly outcome: CheckOutcome;
}

/**
 * The basis of a void. `event`: only an event, and the service must confirm it. `details`: the service confirmed it.
 * `unanswered`: the service does not answer. `contradicted`: the service denies it, and an operator has to decide.
 */
export type VoidBasis = 'event' | 'details' | 'unanswered' | 'contradicted';

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
