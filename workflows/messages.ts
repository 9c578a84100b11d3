/** What can be said to a workflow and asked of it, and the inputs they start with. */

import { defineQuery, defineSignal, type Sinks } from '@temporalio/workflow';
import type { FileTag } from '../billing/billing-service.ts';
import type { EnvironmentName, InvoiceEvent, InvoiceState } from '../lib/wire/names.ts';
import type { Attention, Knowledge } from './lifecycle.ts';
import type { Pace } from './pace.ts';

export interface InvoiceInput {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  readonly invoiceId: string;
  /** Missing fields have their defaults. */
  readonly pace?: Partial<Pace>;
  /** Ask the service at once, as if `lookUpSignal` had been sent: for a start that must not disturb an open run. */
  readonly lookUp?: LookUpRequest;
  /** What a continued run hands to the next. */
  readonly carried?: CarriedInvoice;
}

export interface CarriedInvoice {
  readonly knowledge: Knowledge;
  /** How often the service was asked for a file that is overdue. */
  readonly asked: number;
  /** How many series of attempts at the file failed, and how long they paused in all. */
  readonly failedSeries: number;
  readonly pausedMs: number;
  /** What is noted on the invoice as going wrong, and how often a void was denied. */
  readonly notedFailure: string | null;
  readonly denials: number;
  /** The file whose rows were refused, and how often the service was asked whether it has repaired it. */
  readonly refusedSha256: string | null;
  readonly refusedTag: FileTag | null;
  readonly repairAsks: number;
  /** Workflows that still have to be told what became of the invoice. */
  readonly owed: readonly string[];
}

/** Why somebody wants the service to be asked about an invoice now. */
export interface LookUpRequest {
  readonly cause: 'backfill' | 'reconcile' | 'person';
  /** Workflow that is told what became of the invoice, by `backfillReplySignal`. */
  readonly replyTo?: string;
  /** What is loaded may not be what the service has now: fetch the file again and compare. */
  readonly isFileInDoubt?: boolean;
}

/** What became of one invoice of a backfill. */
export interface BackfillReply {
  readonly invoiceId: string;
  readonly state: InvoiceState | 'unknown';
  /** Why it needs attention; null otherwise. */
  readonly reason: string | null;
}

export interface RetryRequest {
  readonly requestedBy: 'person' | 'reconcile';
}

export interface InvoiceStatus {
  readonly state: InvoiceState;
  /** How many different events were taken in. */
  readonly seen: number;
  readonly attention: Attention | null;
  /** The last thing that went wrong and was, or will be, tried again; null when nothing did. */
  readonly lastFailure: { readonly code: string; readonly message: string; readonly at: string } | null;
  /** What the workflow does right now, in a few words. */
  readonly doing: string;
}

/** What became of the invoice in this run. `unknown`: the service does not know the id. */
export interface InvoiceResult {
  readonly state: InvoiceState | 'unknown';
  readonly sha256: string | null;
}

export const invoiceEventSignal = defineSignal<[InvoiceEvent]>('invoiceEvent');
export const retrySignal = defineSignal<[RetryRequest]>('retry');
/** Harmless to a run that is beyond waiting; starts one for an invoice that no event was heard of. */
export const lookUpSignal = defineSignal<[LookUpRequest]>('lookUp');
export const backfillReplySignal = defineSignal<[BackfillReply]>('backfillReply');
export const statusQuery = defineQuery<InvoiceStatus>('status');

/** What a worker is told beside the history (worker/create-workers.ts). */
export interface InvoiceSinks extends Sinks {
  readonly invoices: {
    /** An event of another invoice was sent to this workflow. */
    foreignEvent(): void;
  };
}
