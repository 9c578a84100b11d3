/** What can be said to a backfill and asked of it. */

import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { EnvironmentName } from '../contract/names.js';
import type { BackfillReply } from './messages.js';
import type { Pace } from './pace.js';

export interface BackfillInput {
  readonly environment: EnvironmentName;
  readonly partnerId: string;
  /** How many invoices are in work at once. */
  readonly concurrency: number;
  /** How long a batch waits for one invoice before it counts as `pending`; its own workflow goes on with it. */
  readonly replyWithin: string;
  /** For the invoice workflows that are started. */
  readonly pace?: Partial<Pace>;
}

export interface BackfillBatchInput extends BackfillInput {
  readonly invoiceIds: readonly string[];
  readonly control: BackfillControl;
  /** What earlier runs of this batch started, with the instant (ms), and found out. */
  readonly inWork?: readonly (readonly [string, number])[];
  readonly results?: readonly BackfillOutcome[];
}

export type BackfillControl = 'pause' | 'resume' | 'cancel';

/** How many invoices ended how. `pending`: still in work when the batch stopped waiting; `cancelled`: not begun. */
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

export interface BackfillBatchResult {
  readonly counts: BackfillCounts;
  readonly results: readonly BackfillOutcome[];
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
  /** Whether all ids were handed over. */
  readonly isComplete: boolean;
  readonly isOver: boolean;
  readonly control: BackfillControl;
  /** Of the batches that are done; the running one is asked itself. */
  readonly counts: BackfillCounts;
}

export interface BackfillResult extends BackfillCounts {
  /** Workflow ids of the batches, whose results name each invoice. */
  readonly batches: readonly string[];
}

export function noBackfillCounts(): BackfillCounts {
  return { loaded: 0, voided: 0, draft: 0, needs_attention: 0, unknown: 0, pending: 0, cancelled: 0 };
}

export const backfillIdsSignal =
  defineSignal<[{ invoiceIds: readonly string[]; isLast: boolean }]>('backfillIds');
export const backfillControlSignal = defineSignal<[BackfillControl]>('backfillControl');
export const backfillProgressQuery = defineQuery<BackfillProgress>('backfillProgress');
export const backfillBatchQuery =
  defineQuery<readonly { workflowId: string; size: number; state: 'waiting' | 'running' | 'done' }[]>(
    'backfillBatches',
  );
export const backfillBatchProgressQuery = defineQuery<BackfillBatchProgress>('backfillBatchProgress');
