/**
 * Brings in invoices by id, any number of them, without any event.
 *
 * The ids lie in batches, workflows of their own that are started, paused, by whoever has the ids: no history but a
 * batch's holds them. The backfill only says whose turn it is, one after the other, each with a sliding window, and
 * counts; it continues as new before its own history gets long. It survives the death of every worker, and asking for
 * an invoice twice is harmless.
 */

import {
  allHandlersFinished,
  CancellationScope,
  ChildWorkflowFailure,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  proxyActivities,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingActivities } from '../activities/create-activities.js';
import type { backfillBatch } from './backfill-batch.js';
import {
  type BackfillBatch,
  type BackfillControl,
  type BackfillCounts,
  type BackfillInput,
  type BackfillProgress,
  type BackfillResult,
  backfillBatchOverSignal,
  backfillBatchQuery,
  backfillBatchSignal,
  backfillControlSignal,
  backfillIdsSignal,
  backfillProgressQuery,
  noBackfillCounts,
} from './backfill-messages.js';
import { inMilliseconds } from './pace.js';

type Batch = { -readonly [key in keyof BackfillBatch]: BackfillBatch[key] };

export async function backfill(input: BackfillInput): Promise<BackfillResult> {
  const { findBatchEnd } = proxyActivities<BillingActivities>({
    startToCloseTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min' },
  });
  const { carried, ...plain } = input;
  const patience = inMilliseconds((input.lookAfter ?? '10 min') as `${number}`);
  const incoming: (readonly string[])[] = [];
  const batches: Batch[] = (carried?.batches ?? []).map((batch) => ({ ...batch }));
  let isComplete = carried?.isComplete ?? false;
  let control: BackfillControl = carried?.control ?? 'resume';
  /** Started when ids came by signal: its batches are its children, who would not outlive this run. */
  let hasChildren = false;

  const counts = (): BackfillCounts =>
    batches.reduce((sum, batch) => addCounts(sum, batch.counts), noBackfillCounts());
  const next = (): Batch | undefined => batches.find(({ state }) => state === 'waiting');
  setHandler(backfillBatchSignal, ({ workflowId, size, isLast }) => {
    // The server may, rarely, tell a signal twice.
    if (size > 0 && !batches.some((batch) => batch.workflowId === workflowId)) {
      batches.push({ workflowId, size, state: 'waiting', counts: noBackfillCounts() });
    }
    isComplete ||= isLast;
  });
  setHandler(backfillBatchOverSignal, ({ workflowId, counts: found }) => {
    const batch = batches.find((one) => one.workflowId === workflowId);
    if (batch !== undefined) settle(batch, found);
  });
  setHandler(backfillIdsSignal, ({ invoiceIds, isLast }) => {
    hasChildren = true;
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

  for (;;) {
    await condition(() => incoming.length > 0 || next() !== undefined || isComplete);
    if (workflowInfo().continueAsNewSuggested && !hasChildren) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof backfill>({ ...plain, carried: { batches, isComplete, control } });
    }
    const invoiceIds = incoming.shift();
    const batch = next();
    if (invoiceIds !== undefined) await runChild(invoiceIds);
    else if (batch !== undefined) await runOwn(batch);
    else break;
  }
  await condition(allHandlersFinished);
  return { ...counts(), batches: batches.map(({ workflowId }) => workflowId) };

  async function runOwn(batch: Batch): Promise<void> {
    batch.state = 'running';
    try {
      if (control !== 'pause') await tell(batch.workflowId, control);
      while (!(await condition(() => batch.state === 'done', patience))) {
        const end = await findBatchEnd({ workflowId: batch.workflowId });
        if (end.state === 'completed') settle(batch, end.counts);
        if (end.state === 'broken-off') settle(batch, { ...noBackfillCounts(), cancelled: batch.size });
      }
    } catch (error) {
      if (isCancellation(error)) await CancellationScope.nonCancellable(dropTheRest);
      throw error;
    }
  }

  /** Nobody would ever give them their turn. */
  async function dropTheRest(): Promise<void> {
    const rest = batches.filter(({ state }) => state !== 'done');
    await Promise.all(rest.map(({ workflowId }) => tell(workflowId, 'cancel')));
  }

  async function runChild(invoiceIds: readonly string[]): Promise<void> {
    const workflowId = `${workflowInfo().workflowId}/${batches.length + 1}`;
    const batch: Batch = {
      ...{ workflowId, size: invoiceIds.length, state: 'running', counts: noBackfillCounts() },
    };
    batches.push(batch);
    const begunWith = control;
    batch.counts = await runBatch(plain, { workflowId, invoiceIds, control }, async () => {
      // What was wished for while the batch was about to begin could not reach it.
      if (control !== begunWith) await tell(workflowId, control);
    });
    batch.state = 'done';
  }

  /** Also while this workflow is being cancelled: nobody waits for a handler, whose failure would stall the run. */
  async function tell(workflowId: string, wanted: BackfillControl): Promise<void> {
    const batch = getExternalWorkflowHandle(workflowId);
    try {
      await CancellationScope.nonCancellable(() => batch.signal(backfillControlSignal, wanted));
    } catch {
      // The batch ended in the same moment; the next one starts with the new wish.
    }
  }
}

function settle(batch: Batch, counts: BackfillCounts): void {
  batch.counts = counts;
  batch.state = 'done';
}

/** A batch that somebody terminated counts as cancelled, and the others go on. */
async function runBatch(
  input: Omit<BackfillInput, 'carried'>,
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
