/** Requests and results are JSON. Expected outcomes are values; an error is a failure (failure.ts). */

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
} from '../lib/warehouse-requests.ts';
import type { FileTag } from '../lib/wire/csv-file.ts';
import type { ExportLocation, InvoiceEvent, InvoiceHeader } from '../lib/wire/invoice-event.ts';
import type { EnvironmentName, WebhookStatus } from '../lib/wire/names.ts';
import type { InvoiceLedger } from './lifecycle.ts';
import type { BackfillCounts, InvoiceToLookUp } from './messages.ts';
import type { Pace } from './pace.ts';

export interface BillingActivities {
  /** Ensures a token before work starts (spec 5). `secondsLeft` is null with an API key, which does not expire. */
  fetchToken(): Promise<{ readonly secondsLeft: number | null }>;
  /** Asks the service for the details of an invoice (spec 4.4). */
  lookUpInvoice(request: InvoiceRequest): Promise<LookUpInvoiceResult>;
  /** Asks the service for a new URL of the file (spec 4.3). */
  regenerateUrl(request: InvoiceRequest): Promise<RegenerateUrlResult>;
  /** Downloads and verifies a file (spec 6, rule 8). A small one is loaded at once. */
  downloadCsv(request: DownloadCsvRequest): Promise<DownloadCsvResult>;
  /** Requests the file itself (spec 4.5), of which no hash is announced. */
  exportCsv(request: ExportCsvRequest): Promise<ExportCsvResult>;
  surveyInvoices(request: SurveyRequest): Promise<readonly Finding[]>;
  /** Safe to repeat: only one reply of an invoice counts. */
  startLookUps(request: StartLookUpsRequest): Promise<void>;
  getBackfillStatus(request: { readonly workflowId: string }): Promise<BackfillWorkflowStatus>;
}

export interface WarehouseActivities {
  recordEvent(request: { readonly event: InvoiceEvent }): Promise<InvoiceLedger>;
  readLedger(request: InvoiceRequest): Promise<InvoiceLedger>;
  readLedgerStatuses(request: { readonly invoiceIds: readonly string[] }): Promise<readonly LedgerStatus[]>;
  /** Stores the answer of the details endpoint: a rebuild cannot request it again. */
  recordDetails(request: RecordDetailsRequest): Promise<void>;
  loadInvoice(request: LoadRequest): Promise<LoadInvoiceResult>;
  /** Records a void; the rows of the invoice stay in the warehouse. */
  voidInvoice(request: InvoiceRequest): Promise<void>;
  markNeedsAttention(request: NeedsAttentionRequest): Promise<void>;
  clearNeedsAttention(request: InvoiceRequest): Promise<void>;
  recordFailure(request: RecordFailureRequest): Promise<void>;
  decideInvoice(decision: Decision): Promise<Decided>;
  publishSnapshot(): Promise<Publication>;
  ingestArchive(): Promise<{ readonly events: number }>;
  forwardInbox(request: { readonly queues: Queues }): Promise<ForwardInboxResult>;
  /** Asks the service about files and invoices that only deliveries have named. */
  confirmAnnounced(request: { readonly queues: Queues }): Promise<void>;
  findOverdue(request: FindOverdueRequest): Promise<FindOverdueResult>;
  /** Safe to repeat: the workflow that it starts for an invoice is unique. */
  reconcileInvoices(request: ReconcileInvoicesRequest): Promise<void>;
  findGaps(request: FindGapsRequest): Promise<FindGapsResult>;
  /** The result has the first 200 differences. */
  verifyWarehouse(request: { readonly full: boolean }): Promise<Verification>;
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
      /** The status is null when the service states none that we know. */
      readonly status: WebhookStatus | null;
      readonly unknownStatus?: string | null;
      readonly partnerId?: string | null;
      readonly header: Partial<InvoiceHeader>;
    }
  | { readonly outcome: 'not-found' };

export type RegenerateUrlResult =
  | {
      readonly outcome: 'location';
      readonly location: ExportLocation;
      readonly partnerId?: string | null;
    }
  | { readonly outcome: 'not-exported' }
  | { readonly outcome: 'refused' | 'forbidden'; readonly message: string };

export interface DownloadCsvRequest {
  readonly invoiceId: string;
  readonly location: ExportLocation;
  readonly source: 'event' | 'regenerate';
  /** The id of the event that announced the file; null when none did. */
  readonly eventId: string | null;
}

export type DownloadCsvResult =
  | {
      readonly outcome: 'fetched';
      readonly sha256: string;
      readonly sizeBytes: number;
      /** The hash of the file itself, when the hash of its encoded bytes was announced. */
      readonly announcedSha256?: string;
      /** The result of the load; absent when the file is still to be loaded. */
      readonly loaded?: LoadInvoiceResult;
    }
  | { readonly outcome: 'url-refused'; readonly message: string }
  /** An event's URL has a host that is not on the list; a URL from the service itself may be used. */
  | { readonly outcome: 'host-not-allowed'; readonly message: string }
  | { readonly outcome: 'impossible-announcement'; readonly message: string }
  | { readonly outcome: 'mismatch'; readonly message: string };

export interface ExportCsvRequest {
  readonly invoiceId: string;
  readonly unless?: FileTag;
}

export type ExportCsvResult =
  | {
      readonly outcome: 'fetched';
      readonly sha256: string;
      readonly sizeBytes: number;
      readonly tag?: FileTag;
    }
  | { readonly outcome: 'not-modified' }
  | { readonly outcome: 'not-found' };

export interface SurveyRequest {
  readonly invoiceIds: readonly string[];
  readonly ledgerStatuses: readonly LedgerStatus[];
  readonly concurrency: number;
}

export type Finding =
  /** After one of the first three outcomes no workflow is needed. */
  | 'loaded'
  | 'voided'
  | 'unknown'
  /** `work` means that the workflow of the invoice has to act, or to request more. */
  | 'work'
  | 'file-in-doubt';

export interface StartLookUpsRequest {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  readonly invoices: readonly InvoiceToLookUp[];
  readonly replyTo: string;
  readonly queues: Queues;
  readonly pace?: Partial<Pace>;
}

export type BackfillWorkflowStatus =
  | { readonly state: 'open' }
  | { readonly state: 'completed'; readonly counts: BackfillCounts }
  | { readonly state: 'ended' };

export interface RecordDetailsRequest {
  readonly invoiceId: string;
  readonly status: WebhookStatus | null;
  readonly unknownStatus?: string | null;
  /** The partner for which the service was asked; null when it is not known. */
  readonly partnerId?: string | null;
  readonly header: Partial<InvoiceHeader>;
}

export type LoadInvoiceResult =
  | { readonly outcome: 'loaded' | 'already_loaded'; readonly shipments: number }
  | { readonly outcome: 'voided' }
  /** Nothing was loaded; `reason` names line, column and rule. */
  | { readonly outcome: 'rejected' | 'contradicted'; readonly reason: string };

export interface NeedsAttentionRequest {
  readonly invoiceId: string;
  readonly code: string;
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
  /** Invoices that are due by this instant, in ISO 8601 UTC. */
  readonly until: string;
  readonly limit: number;
}

export interface FindOverdueResult {
  readonly unwatched: readonly DueInvoice[];
  readonly toRecheck: readonly DueInvoice[];
  /** Invoices that need attention for a reason that may have passed, which a rejected file is not. */
  readonly toRetry: readonly DueInvoice[];
  readonly needAttention: number;
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
  readonly findings: readonly string[];
  readonly reported: string;
}

export const TENANT_STATEMENTS = 'tenant-statements';

export interface ScheduledReport {
  readonly name: string;
  readonly report: string;
  readonly filters: Readonly<Record<string, string | readonly string[]>>;
  /** A period relative to the run, which replaces `from` and `to`. */
  readonly period: string | null;
  readonly parameters: Readonly<Record<string, string>>;
  readonly tables: Readonly<Record<string, string>>;
  readonly format: string;
  readonly folder: string;
}

export interface WrittenReport {
  readonly path: string;
  readonly rows: number;
  readonly about: string;
}
