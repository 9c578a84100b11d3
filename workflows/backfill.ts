/**
 * Batches are workflows of their own, started paused by the client; no other history contains the ids (ADR 14).
 * Fetching an invoice twice is harmless.
 */

import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingActivities } from './activities.ts';
import {
  type BackfillBatch,
  type BackfillControl,
  type BackfillCounts,
  type BackfillInput,
  type BackfillProgress,
  type BackfillResult,
  backfillBatchOverSignal,
  backfillBatchSignal,
  backfillControlSignal,
  backfillProgressQuery,
  noBackfillCounts,
} from './messages.ts';
import { inMilliseconds } from './pace.ts';

type Batch = { -readonly [key in keyof BackfillBatch]: BackfillBatch[key] };

/** The server accepts two thousand pending signals of a workflow. */
const MAX_SIGNALS = 100;

export async function backfill(input: BackfillInput): Promise<BackfillResult> {
  const { getBackfillStatus } = proxyActivities<BillingActivities>({
    startToCloseTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min' },
  });
  const { carried, ...plain } = input;
  const checkAfter = inMilliseconds(input.checkAfter ?? '10 min');
  const quietAfter = inMilliseconds(input.quietAfter ?? '10 min');
  const batches: Batch[] = (carried?.batches ?? []).map((batch) => ({ ...batch }));
  let isComplete = carried?.isComplete ?? false;
  let control: BackfillControl = carried?.control ?? 'resume';
  let lastBatchAt = Date.now();
  let isQuiet = false;
  let isDropped = false;
  let isOver = false;

  const counts = (): BackfillCounts =>
    batches.reduce((sum, batch) => addCounts(sum, batch.counts), noBackfillCounts());
  const openBatches = (): Batch[] => batches.filter(({ state }) => state !== 'done');
  setHandler(backfillBatchSignal, ({ workflowId, size, isLast }) => {
    lastBatchAt = Date.now();
    if (control === 'cancel') return void sendControl(workflowId, 'cancel');
    // The server may, rarely, deliver a signal twice.
    if (size > 0 && !batches.some((batch) => batch.workflowId === workflowId)) {
      batches.push({ workflowId, size, state: 'waiting', counts: noBackfillCounts() });
    }
    isComplete ||= isLast;
  });
  setHandler(backfillBatchOverSignal, ({ workflowId, counts: found }) => {
    const batch = batches.find((one) => one.workflowId === workflowId);
    if (batch !== undefined) complete(batch, found);
  });
  setHandler(backfillControlSignal, (request) => {
    // A cancellation is final: dropped ids are not started again.
    if (control !== 'cancel') control = request;
    const running = batches.find(({ state }) => state === 'running');
    if (running !== undefined) void sendControl(running.workflowId, control);
  });
  setHandler(backfillProgressQuery, (): BackfillProgress => {
    const total = batches.reduce((sum, { size }) => sum + size, 0);
    const named = batches.map(({ workflowId, size, state }) => ({ workflowId, size, state }));
    return { total, isComplete, isOver, control, counts: counts(), batches: named };
  });

  try {
    for (;;) {
      const [batch] = openBatches();
      if (batch === undefined && (isComplete || isQuiet || control === 'cancel')) break;
      if (workflowInfo().continueAsNewSuggested) {
        await condition(allHandlersFinished);
        return await continueAsNew<typeof backfill>({ ...plain, carried: { batches, isComplete, control } });
      }
      if (control === 'cancel' && !isDropped) await cancelBatches();
      else if (batch === undefined) isQuiet = !(await condition(hasNews, untilQuiet()));
      else await runBatch(batch);
    }
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(cancelBatches);
    throw error;
  }
  isOver = true;
  if (!isComplete) log.warn('a backfill ends without all of its ids', { control });
  await condition(allHandlersFinished);
  return { ...counts(), batches: batches.map(({ workflowId }) => workflowId), isComplete };

  async function runBatch(batch: Batch): Promise<void> {
    let isOpen = true;
    if (batch.state === 'waiting') {
      batch.state = 'running';
      if (control !== 'pause') isOpen = await sendControl(batch.workflowId, control);
    }
    if (isOpen && (await condition(() => batch.state === 'done' || mustCancel(), checkAfter))) return;
    const status = await getBackfillStatus({ workflowId: batch.workflowId });
    if (status.state === 'completed') complete(batch, status.counts);
    if (status.state === 'ended') complete(batch, { ...noBackfillCounts(), cancelled: batch.size });
  }

  /** All batches are cancelled at once, so that none waits for another. */
  async function cancelBatches(): Promise<void> {
    isDropped = true;
    const open = openBatches();
    for (const batch of open) batch.state = 'running';
    for (let from = 0; from < open.length; from += MAX_SIGNALS) {
      const some = open.slice(from, from + MAX_SIGNALS);
      await Promise.all(some.map(({ workflowId }) => sendControl(workflowId, 'cancel')));
    }
  }

  function mustCancel(): boolean {
    return control === 'cancel' && !isDropped;
  }

  function hasNews(): boolean {
    return openBatches().length > 0 || isComplete || control === 'cancel';
  }

  function untilQuiet(): number {
    return Math.max(lastBatchAt + quietAfter - Date.now(), 1);
  }

  /**
   * Never rejected: a signal handler does not await it, and its failure would block the run. false: the batch has
   * ended.
   */
  async function sendControl(workflowId: string, request: BackfillControl): Promise<boolean> {
    const batch = getExternalWorkflowHandle(workflowId);
    try {
      await CancellationScope.nonCancellable(() => batch.signal(backfillControlSignal, request));
      return true;
    } catch {
      return false;
    }
  }
}

function complete(batch: Batch, counts: BackfillCounts): void {
  batch.counts = counts;
  batch.state = 'done';
}

function addCounts(one: BackfillCounts, other: BackfillCounts): BackfillCounts {
  const keys = Object.keys(one) as (keyof BackfillCounts)[];
  return Object.fromEntries(keys.map((key) => [key, one[key] + other[key]])) as unknown as BackfillCounts;
}
