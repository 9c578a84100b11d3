/**
 * The interface of the activities, by task queue; `activities/` implements it. Requests and results are JSON. Expected
 * outcomes are values; an error is a failure (failure.ts).
 */

import type { FileTag } from '../lib/wire/csv-file.ts';
import type {
  EnvironmentName,
  ExportLocation,
  InvoiceEvent,
  InvoiceHeader,
  WebhookStatus,
} from '../lib/wire/names.ts';
import type {
  Decided,
  Decision,
  DueInvoice,
  Imported,
  ImportRequest,
  LedgerStatus,
  LoadRequest,
  Publication,
  Verification,
} from '../lib/wire/warehouse-requests.ts';
import type { InvoiceLedger } from './lifecycle.ts';
import type { BackfillCounts, InvoiceToLookUp } from './messages.ts';
import type { Pace } from './pace.ts';

/** Network work on the `billing` queue: many at once, on any machine. */
export interface BillingActivities {
  /** Ensures a token before work starts (spec 5). `secondsLeft` is null with an API key, which does not expire. */
  fetchToken(): Promise<{ readonly secondsLeft: number | null }>;
  /** Details of an invoice (spec 4.4). */
  lookUpInvoice(request: InvoiceRequest): Promise<LookUpInvoiceResult>;
  /** A fresh presigned URL (spec 4.3). */
  regenerateUrl(request: InvoiceRequest): Promise<RegenerateUrlResult>;
  /** Downloads and verifies an announced file (spec 6, rule 8). A small one is loaded at once. */
  downloadCsv(request: DownloadCsvRequest): Promise<DownloadCsvResult>;
  /** Exports the file (spec 4.5), for which no hash is announced. */
  exportCsv(request: ExportCsvRequest): Promise<ExportCsvResult>;
  /** @returns a finding for each id, in their order */
  surveyInvoices(request: SurveyRequest): Promise<readonly Finding[]>;
  /** Starts a workflow for each invoice. Safe to repeat: only one reply of an invoice counts. */
  startLookUps(request: StartLookUpsRequest): Promise<void>;
  getBackfillStatus(request: { readonly workflowId: string }): Promise<BackfillWorkflowStatus>;
}

/** On the `warehouse` queue, in the process of the single writer. */
export interface WarehouseActivities {
  /** Stores an event in archive and ledger; returns what the ledger then contains. */
  recordEvent(request: { readonly event: InvoiceEvent }): Promise<InvoiceLedger>;
  readLedger(request: InvoiceRequest): Promise<InvoiceLedger>;
  /** Statuses of the invoices that the ledger contains. */
  readLedgerStatuses(request: { readonly invoiceIds: readonly string[] }): Promise<readonly LedgerStatus[]>;
  /** Stores the answer of the details endpoint: a rebuild cannot request it again. */
  recordDetails(request: RecordDetailsRequest): Promise<void>;
  loadInvoice(request: LoadRequest): Promise<LoadInvoiceResult>;
  /** Removes an invoice from every total; its rows stay. */
  voidInvoice(request: InvoiceRequest): Promise<{ readonly hadRows: boolean }>;
  markNeedsAttention(request: NeedsAttentionRequest): Promise<void>;
  clearNeedsAttention(request: InvoiceRequest): Promise<void>;
  /** Stores the failure that is being retried; null clears it. */
  recordFailure(request: RecordFailureRequest): Promise<void>;
  /** A person's decision: a void undone, an older version that counts. */
  decideInvoice(decision: Decision): Promise<Decided>;
  /** Publishes everything committed so far. */
  publishSnapshot(): Promise<Publication>;
  ingestArchive(): Promise<{ readonly events: number }>;
  /** Forwards acknowledged deliveries that no endpoint process has forwarded. */
  forwardInbox(request: { readonly queues: Queues }): Promise<ForwardInboxResult>;
  findOverdue(request: FindOverdueRequest): Promise<FindOverdueResult>;
  /** Starts the workflows of overdue invoices, or sends them a look-up or a retry. Safe to repeat. */
  reconcileInvoices(request: ReconcileInvoicesRequest): Promise<void>;
  findGaps(request: FindGapsRequest): Promise<FindGapsResult>;
  /** Compares the warehouse with the archive; returns the first 200 differences. */
  verifyWarehouse(request: { readonly full: boolean }): Promise<Verification>;
  /** Imports a file that lies on the worker's machine. */
  importCsv(request: ImportRequest): Promise<Imported>;
  writeReport(scheduled: ScheduledReport): Promise<WrittenReport>;
}

export interface InvoiceRequest {
  readonly invoiceId: string;
}

export interface Queues {
  readonly billing: string;
  readonly warehouse: string;
}

export type LookUpInvoiceResult =
  | {
      readonly outcome: 'found';
      /** null: none that we know. */
      readonly status: WebhookStatus | null;
      /** As the service wrote it, when it is not a known one. */
      readonly unknownStatus?: string | null;
      readonly header: Partial<InvoiceHeader>;
    }
  | { readonly outcome: 'not-found' };

export type RegenerateUrlResult =
  | { readonly outcome: 'location'; readonly location: ExportLocation }
  /** 404: the invoice or its export does not exist (spec 7). */
  | { readonly outcome: 'not-exported' }
  /** 400 or 403, repeatedly. */
  | { readonly outcome: 'refused' | 'forbidden'; readonly message: string };

export interface DownloadCsvRequest {
  readonly invoiceId: string;
  readonly location: ExportLocation;
  readonly source: 'event' | 'regenerate';
  /** The event that announced the file; null: none did. */
  readonly eventId: string | null;
}

export type DownloadCsvResult =
  | {
      readonly outcome: 'fetched';
      readonly sha256: string;
      readonly sizeBytes: number;
      /** The announced hash; if that was the hash of an encoded file, the hash of the file itself. */
      readonly announcedSha256?: string;
      /** Absent: the file is still to be loaded. */
      readonly loaded?: LoadInvoiceResult;
    }
  /** Storage answered 400, 401, 403 or 404. */
  | { readonly outcome: 'url-refused'; readonly message: string }
  /** An event's URL has a host that is not on the list; a URL from the service itself may be used. */
  | { readonly outcome: 'host-not-allowed'; readonly message: string }
  /** No file can match the announcement; a fresh one may be correct. */
  | { readonly outcome: 'impossible-announcement'; readonly message: string }
  /** The bytes differ from the announcement; the message has both hashes or sizes. */
  | { readonly outcome: 'mismatch'; readonly message: string };

export interface ExportCsvRequest {
  readonly invoiceId: string;
  /** Fetch the file only if it differs from this one. */
  readonly unless?: FileTag;
}

export type ExportCsvResult =
  | {
      readonly outcome: 'fetched';
      readonly sha256: string;
      readonly sizeBytes: number;
      readonly tag?: FileTag;
    }
  /** The export equals the file of `unless`. */
  | { readonly outcome: 'not-modified' }
  | { readonly outcome: 'not-found' };

export interface SurveyRequest {
  readonly invoiceIds: readonly string[];
  readonly ledgerStatuses: readonly LedgerStatus[];
  readonly concurrency: number;
}

export type Finding =
  /** The first three are results; no workflow is needed. */
  | 'loaded'
  | 'voided'
  | 'unknown'
  /** The invoice's own workflow has to act, or to find out more. */
  | 'work'
  /** The service states another total or count than the ledger, so the file is fetched again. */
  | 'file-in-doubt';

export interface StartLookUpsRequest {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  readonly invoices: readonly InvoiceToLookUp[];
  /** The workflow that receives each result as a signal. */
  readonly replyTo: string;
  readonly queues: Queues;
  readonly pace?: Partial<Pace>;
}

export type BackfillWorkflowStatus =
  | { readonly state: 'open' }
  | { readonly state: 'completed'; readonly counts: BackfillCounts }
  /** Failed, terminated, or unknown to Temporal. */
  | { readonly state: 'ended' };

export interface RecordDetailsRequest {
  readonly invoiceId: string;
  readonly status: WebhookStatus | null;
  readonly unknownStatus?: string | null;
  readonly header: Partial<InvoiceHeader>;
}

export type LoadInvoiceResult =
  | { readonly outcome: 'loaded' | 'already_loaded'; readonly shipments: number }
  | { readonly outcome: 'voided' }
  /** Nothing was loaded; `reason` names line, column and rule. */
  | { readonly outcome: 'rejected' | 'contradicted'; readonly reason: string };

export interface NeedsAttentionRequest {
  readonly invoiceId: string;
  /** E.g. `hash-mismatch`, `csv-rejected`. */
  readonly code: string;
  /** The problem, the attempts, and the remedy. */
  readonly reason: string;
}

export interface RecordFailureRequest {
  readonly invoiceId: string;
  readonly failure: { readonly code: string; readonly reason: string } | null;
  readonly isAlert: boolean;
}

export interface ForwardInboxResult {
  readonly forwarded: number;
  readonly waiting: number;
}

export interface FindOverdueRequest {
  /** ISO 8601 UTC: invoices that are due by then. */
  readonly until: string;
  /** Maximum of each kind; the others stay due. */
  readonly limit: number;
}

export interface FindOverdueResult {
  /** Unfinished, and no workflow is open: start one. */
  readonly unwatched: readonly DueInvoice[];
  /** Loaded: they may have been voided since. */
  readonly toRecheck: readonly DueInvoice[];
  /** Need attention for a reason that may have passed (not for a rejected file). */
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
  /** Refused deliveries and files. */
  readonly quarantined: number;
}

export interface ReconcileInvoicesRequest {
  readonly action: 'watch' | 'recheck' | 'retry';
  readonly invoices: readonly DueInvoice[];
  readonly queues: Queues;
}

export interface FindGapsRequest {
  /** Digests of the gaps that the previous run reported; empty for the first run. */
  readonly reported: string;
}

export interface FindGapsResult {
  readonly gaps: number;
  /** The first of them. */
  readonly findings: readonly string[];
  /** Digests of all of them, for the next run. */
  readonly reported: string;
}

/** In place of a report's name: the statements of tenants. */
export const TENANT_STATEMENTS = 'tenant-statements';

export interface ScheduledReport {
  /** Name of the schedule; the same name replaces it. */
  readonly name: string;
  /** A report of the catalogue, or `TENANT_STATEMENTS`. */
  readonly report: string;
  /** As in `reports/report-filters.ts`, with dates as they were typed. */
  readonly filters: Readonly<Record<string, string | readonly string[]>>;
  /** Relative to the run, instead of `from` and `to`. */
  readonly period: string | null;
  readonly parameters: Readonly<Record<string, string>>;
  /** Absolute paths of the files it joins, by table. */
  readonly tables: Readonly<Record<string, string>>;
  readonly format: string;
  /** Absolute, on the worker's machine. */
  readonly folder: string;
}

export interface WrittenReport {
  /** Absolute, on the worker's machine. */
  readonly path: string;
  readonly rows: number;
  /** One line for the notification. */
  readonly about: string;
}
