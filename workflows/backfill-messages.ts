/** What can be said to a backfill and asked of it. */

import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { InvoiceToLookUp } from '../activities/start-look-ups.ts';
import type { EnvironmentName } from '../lib/wire/names.ts';
import type { BackfillReply } from './messages.ts';
import type { Pace } from './pace.ts';

export interface BackfillInput {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  /** How many invoices are in work at once. */
  readonly concurrency: number;
  /** How long a batch waits for one invoice before it counts as `pending`; its own workflow goes on with it. */
  readonly replyWithin: string;
  /** After so long without a word a backfill looks after its batch, and a waiting batch after its backfill: somebody may have terminated it. */
  readonly lookAfter?: string;
  /** After so long without a further batch, before the last one was announced, whoever sends them counts as gone. */
  readonly quietAfter?: string;
  /** For the invoice workflows that are started. */
  readonly pace?: Partial<Pace>;
  /** What a continued run hands to the next; it holds no invoice id. */
  readonly carried?: CarriedBackfill;
}

export interface CarriedBackfill {
  readonly batches: readonly BackfillBatch[];
  readonly isComplete: boolean;
  readonly control: BackfillControl;
}

export interface BackfillBatch {
  readonly workflowId: string;
  /** How many ids it has. */
  readonly size: number;
  readonly state: 'waiting' | 'running' | 'done';
  readonly counts: BackfillCounts;
}

export interface BackfillBatchInput extends Omit<BackfillInput, 'carried' | 'quietAfter'> {
  readonly invoiceIds: readonly string[];
  readonly control: BackfillControl;
  /** The backfill: it gives the batch its turn, and is told when the batch is over. */
  readonly replyTo: string;
  /** What earlier runs of this batch found to need a workflow, started, with the instant (ms), and found out. */
  readonly toStart?: readonly InvoiceToLookUp[];
  readonly inWork?: readonly (readonly [string, number])[];
  readonly results?: readonly BackfillOutcome[];
}

export type BackfillControl = 'pause' | 'resume' | 'cancel';

/** How many invoices ended how. `pending`: still in work when the batch stopped waiting; `cancelled`: no workflow was started. */
export interface BackfillCounts {
  readonly loaded: number;
  readonly voided: number;
  readonly draft: number;
  readonly needs_attention: number;
  readonly unknown: number;
  readonly pending: number;
  readonly cancelled: number;
}

export interface BackfillOutcome extends Omit<BackfillReply, 'state'> {
  readonly state: keyof BackfillCounts;
}

/** What became of each invoice the batch tells when it is asked: in its result, they would lie in its asker's history. */
export interface BackfillBatchResult {
  readonly counts: BackfillCounts;
}

export interface BackfillBatchProgress {
  readonly results: readonly BackfillOutcome[];
  readonly inWork: number;
  readonly waiting: number;
  readonly control: BackfillControl;
}

export interface BackfillProgress {
  /** Ids handed over so far. */
  readonly total: number;
  /** Whether all ids were handed over. False when it is over: whoever had them was gone, or it was cancelled before. */
  readonly isComplete: boolean;
  readonly isOver: boolean;
  readonly control: BackfillControl;
  /** Of the batches that are done; the running one is asked itself. */
  readonly counts: BackfillCounts;
}

export interface BackfillResult extends BackfillCounts {
  /** Workflow ids of the batches, whose results name each invoice. */
  readonly batches: readonly string[];
  /** False: not all ids were ever handed over. */
  readonly isComplete: boolean;
}

export function noBackfillCounts(): BackfillCounts {
  return { loaded: 0, voided: 0, draft: 0, needs_attention: 0, unknown: 0, pending: 0, cancelled: 0 };
}

/** A batch was started, paused, with so many ids (0: there is none left to start); it begins when its turn comes. */
export const backfillBatchSignal =
  defineSignal<[{ workflowId: string; size: number; isLast: boolean }]>('backfillBatch');
export const backfillBatchOverSignal =
  defineSignal<[{ workflowId: string; counts: BackfillCounts }]>('backfillBatchOver');
export const backfillControlSignal = defineSignal<[BackfillControl]>('backfillControl');
export const backfillProgressQuery = defineQuery<BackfillProgress>('backfillProgress');
export const backfillBatchQuery = defineQuery<readonly Omit<BackfillBatch, 'counts'>[]>('backfillBatches');
export const backfillBatchProgressQuery = defineQuery<BackfillBatchProgress>('backfillBatchProgress');
