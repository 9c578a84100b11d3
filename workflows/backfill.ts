/**
 * Brings in invoices by id, any number of them, without any event.
 *
 * The ids lie in batches, each a child workflow with its own history, so a hundred thousand of them neither meet the
 * limits of a payload nor of a history; the batches are worked off one after the other, each with a sliding window.
 * The backfill itself only counts. It survives the death of every worker, and asking for an invoice twice is harmless.
 */

import {
  allHandlersFinished,
  ChildWorkflowFailure,
  condition,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { backfillBatch } from './backfill-batch.js';
import {
  type BackfillControl,
  type BackfillCounts,
  type BackfillInput,
  type BackfillProgress,
  type BackfillResult,
  backfillBatchQuery,
  backfillControlSignal,
  backfillIdsSignal,
  backfillProgressQuery,
  noBackfillCounts,
} from './backfill-messages.js';

interface Batch {
  readonly workflowId: string;
  readonly size: number;
  state: 'waiting' | 'running' | 'done';
  counts: BackfillCounts;
}

export async function backfill(input: BackfillInput): Promise<BackfillResult> {
  const incoming: (readonly string[])[] = [];
  const batches: Batch[] = [];
  let isComplete = false;
  let control: BackfillControl = 'resume';

  const counts = (): BackfillCounts =>
    batches.reduce((sum, batch) => addCounts(sum, batch.counts), noBackfillCounts());
  setHandler(backfillIdsSignal, ({ invoiceIds, isLast }) => {
    if (invoiceIds.length > 0) incoming.push(invoiceIds);
    isComplete ||= isLast;
  });
  setHandler(backfillControlSignal, (wanted) => {
    // Nothing undoes a cancellation: what was dropped is not started again.
    if (control !== 'cancel') control = wanted;
    const running = batches.find(({ state }) => state === 'running');
    if (running !== undefined) void tell(running.workflowId, control);
  });
  setHandler(backfillBatchQuery, () =>
    batches.map(({ workflowId, size, state }) => ({ workflowId, size, state })),
  );
  setHandler(backfillProgressQuery, (): BackfillProgress => {
    const total = batches.reduce((sum, { size }) => sum + size, 0) + incoming.flat().length;
    const isOver = isComplete && incoming.length === 0 && batches.every(({ state }) => state === 'done');
    return { total, isComplete, isOver, control, counts: counts() };
  });

  for (let next = 0; ; ) {
    await condition(() => incoming.length > 0 || isComplete);
    const invoiceIds = incoming.shift();
    if (invoiceIds === undefined) break;
    next += 1;
    const workflowId = `${workflowInfo().workflowId}/${next}`;
    const batch: Batch = {
      workflowId,
      size: invoiceIds.length,
      state: 'running',
      counts: noBackfillCounts(),
    };
    batches.push(batch);
    const begunWith = control;
    batch.counts = await runBatch(input, { workflowId, invoiceIds, control }, async () => {
      // What was wished for while the batch was about to begin could not reach it.
      if (control !== begunWith) await tell(workflowId, control);
    });
    batch.state = 'done';
  }
  await condition(allHandlersFinished);
  return { ...counts(), batches: batches.map(({ workflowId }) => workflowId) };

  async function tell(workflowId: string, wanted: BackfillControl): Promise<void> {
    try {
      await getExternalWorkflowHandle(workflowId).signal(backfillControlSignal, wanted);
    } catch (error) {
      if (isCancellation(error)) throw error;
      // The batch ended in the same moment; the next one starts with the new wish.
    }
  }
}

/** A batch that somebody terminated counts as cancelled, and the others go on. */
async function runBatch(
  input: BackfillInput,
  batch: {
    readonly workflowId: string;
    readonly invoiceIds: readonly string[];
    readonly control: BackfillControl;
  },
  onBegun: () => Promise<void>,
): Promise<BackfillCounts> {
  const { workflowId, invoiceIds, control } = batch;
  try {
    const child = await startChild<typeof backfillBatch>('backfillBatch', {
      workflowId,
      args: [{ ...input, invoiceIds, control }],
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    });
    await onBegun();
    const { counts } = await child.result();
    return counts;
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ChildWorkflowFailure)) throw error;
    return { ...noBackfillCounts(), cancelled: invoiceIds.length };
  }
}

function addCounts(one: BackfillCounts, other: BackfillCounts): BackfillCounts {
  const keys = Object.keys(one) as (keyof BackfillCounts)[];
  return Object.fromEntries(keys.map((key) => [key, one[key] + other[key]])) as unknown as BackfillCounts;
}
