/** Clients import this file; it imports no workflow. */

import { type Duration, defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { defineQuery, defineSignal, type Sinks } from '@temporalio/workflow';
import type { FileTag } from '../lib/wire/csv-file.ts';
import type { InvoiceEvent } from '../lib/wire/invoice-event.ts';
import { type EnvironmentName, type InvoiceState, SEARCH_ATTRIBUTES } from '../lib/wire/names.ts';
import type { Attention, Knowledge } from './lifecycle.ts';
import type { Pace } from './pace.ts';

export const invoiceStateKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.state, SearchAttributeType.KEYWORD);
export const tenantIdKey = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tenant, SearchAttributeType.KEYWORD);
export const environmentKey = defineSearchAttributeKey(
  SEARCH_ATTRIBUTES.environment,
  SearchAttributeType.KEYWORD,
);

export interface InvoiceInput {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  readonly invoiceId: string;
  readonly pace?: Partial<Pace>;
  /** The request of a start that must not disturb an open run. */
  readonly lookUp?: LookUpRequest;
  readonly carried?: CarriedInvoice;
}

export interface CarriedInvoice {
  readonly knowledge: Knowledge;
  readonly attempts: Attempts;
  readonly rejected: RejectedFile | null;
  readonly recordedFailure: string | null;
  readonly replyTo: readonly string[];
}

/** Attempts that are counted by one run and the runs that continue it. */
export interface Attempts {
  overdueChecks: number;
  failedSeries: number;
  pausedMs: number;
  denials: number;
  repairChecks: number;
}

export interface RejectedFile {
  readonly sha256: string;
  readonly tag: FileTag | null;
}

export interface LookUpRequest {
  readonly replyTo?: string;
  /** True when the service may have another file than the loaded one. */
  readonly isFileInDoubt?: boolean;
}

/** The workflow does not read it; a signal without an argument would count as unencrypted. */
export interface RetryRequest {
  readonly requestedBy: 'person' | 'reconcile';
}

export interface InvoiceStatus {
  readonly state: InvoiceState;
  readonly seen: number;
  readonly attention: Attention | null;
}

export interface InvoiceResult {
  readonly state: InvoiceState | 'unknown';
  readonly sha256: string | null;
}

export const invoiceEventSignal = defineSignal<[InvoiceEvent]>('invoiceEvent');
export const retrySignal = defineSignal<[RetryRequest]>('retry');
export const lookUpSignal = defineSignal<[LookUpRequest]>('lookUp');
export const statusQuery = defineQuery<InvoiceStatus>('status');

export interface InvoiceSinks extends Sinks {
  readonly invoices: {
    foreignEvent(): void;
  };
}

export interface BackfillInput {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  readonly concurrency: number;
  /**
   * Without a signal for this long, a backfill checks its batch, and a waiting batch its backfill; 10 minutes by
   * default.
   */
  readonly checkAfter?: Duration;
  /** Without a further batch for this long, the client that sends them counts as gone; 10 minutes by default. */
  readonly quietAfter?: Duration;
  readonly pace?: Partial<Pace>;
  /** The result of a backfill contains no invoice ids. */
  readonly carried?: CarriedBackfill;
}

export interface CarriedBackfill {
  readonly batches: readonly BackfillBatch[];
  readonly isComplete: boolean;
  readonly control: BackfillControl;
}

export interface BackfillBatch {
  readonly workflowId: string;
  readonly size: number;
  readonly state: 'waiting' | 'running' | 'done';
  readonly counts: BackfillCounts;
}

export interface BackfillBatchInput extends Omit<BackfillInput, 'carried' | 'quietAfter'> {
  readonly invoiceIds: readonly string[];
  readonly control: BackfillControl;
  readonly replyTo: string;
  /** What earlier runs leave to this one; `inProgress` has the instant (ms) of each start. */
  readonly toStart?: readonly InvoiceToLookUp[];
  readonly inProgress?: readonly (readonly [string, number])[];
  readonly results?: readonly BackfillOutcome[];
}

export interface InvoiceToLookUp {
  readonly invoiceId: string;
  readonly isFileInDoubt: boolean;
}

export type BackfillControl = 'pause' | 'resume' | 'cancel';

/** Invoices by result. `pending`: in progress when the batch stopped waiting; `cancelled`: no workflow was started. */
export interface BackfillCounts {
  readonly loaded: number;
  readonly voided: number;
  readonly draft: number;
  readonly needs_attention: number;
  readonly unknown: number;
  readonly pending: number;
  readonly cancelled: number;
}

export interface BackfillReply {
  readonly invoiceId: string;
  readonly state: InvoiceState | 'unknown';
  readonly reason: string | null;
}

export interface BackfillOutcome extends Omit<BackfillReply, 'state'> {
  readonly state: keyof BackfillCounts;
}

/** In the result, the outcomes would be in the backfill's history, so they are only available by query. */
export interface BackfillBatchResult {
  readonly counts: BackfillCounts;
}

export interface BackfillBatchProgress {
  readonly results: readonly BackfillOutcome[];
  readonly inProgress: number;
  readonly waiting: number;
  readonly control: BackfillControl;
}

export interface BackfillProgress {
  readonly total: number;
  /** Whether all ids were received. Still false at the end: the client was gone, or the backfill was cancelled before. */
  readonly isComplete: boolean;
  readonly isOver: boolean;
  readonly control: BackfillControl;
  readonly counts: BackfillCounts;
  readonly batches: readonly Omit<BackfillBatch, 'counts'>[];
}

export interface BackfillResult extends BackfillCounts {
  readonly batches: readonly string[];
  readonly isComplete: boolean;
}

export function noBackfillCounts(): BackfillCounts {
  return { loaded: 0, voided: 0, draft: 0, needs_attention: 0, unknown: 0, pending: 0, cancelled: 0 };
}

/** Signals that a batch was started, paused; its size is 0 when there was no further batch to start. */
export const backfillBatchSignal =
  defineSignal<[{ workflowId: string; size: number; isLast: boolean }]>('backfillBatch');
export const backfillBatchOverSignal =
  defineSignal<[{ workflowId: string; counts: BackfillCounts }]>('backfillBatchOver');
export const backfillControlSignal = defineSignal<[BackfillControl]>('backfillControl');
export const backfillReplySignal = defineSignal<[BackfillReply]>('backfillReply');
export const backfillProgressQuery = defineQuery<BackfillProgress>('backfillProgress');
export const backfillBatchProgressQuery = defineQuery<BackfillBatchProgress>('backfillBatchProgress');
