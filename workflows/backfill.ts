/**
 * Brings in invoices by id, any number of them, without any event.
 *
 * The ids lie in batches, workflows of their own that are started, paused, by whoever has the ids: no history but a
 * batch's holds them. The backfill only says whose turn it is, one after the other, each with a sliding window, and
 * counts; it continues as new before its own history gets long. It survives the death of every worker, and of whoever
 * sends the batches; asking for an invoice twice is harmless.
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
import type { BillingActivities } from '../activities/create-activities.ts';
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
  backfillProgressQuery,
  noBackfillCounts,
} from './backfill-messages.ts';
import { inMilliseconds } from './pace.ts';

type Batch = { -readonly [key in keyof BackfillBatch]: BackfillBatch[key] };

/** The server takes two thousand signals of a workflow that are under way. */
const TOLD_AT_ONCE = 100;

/** Started by `billsync backfill`; answers counts, since results of single invoices stay in the batches (ADR 14). */
export async function backfill(input: BackfillInput): Promise<BackfillResult> {
  const { findBatchEnd } = proxyActivities<BillingActivities>({
    startToCloseTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min' },
  });
  const { carried, ...plain } = input;
  const lookAfter = inMilliseconds((input.lookAfter ?? '10 min') as `${number}`);
  const quietAfter = inMilliseconds((input.quietAfter ?? '10 min') as `${number}`);
  const batches: Batch[] = (carried?.batches ?? []).map((batch) => ({ ...batch }));
  let isComplete = carried?.isComplete ?? false;
  let control: BackfillControl = carried?.control ?? 'resume';
  let heardAt = Date.now();
  let isQuiet = false;
  let isDropped = false;
  let isOver = false;

  const counts = (): BackfillCounts =>
    batches.reduce((sum, batch) => addCounts(sum, batch.counts), noBackfillCounts());
  const undone = (): Batch[] => batches.filter(({ state }) => state !== 'done');
  setHandler(backfillBatchSignal, ({ workflowId, size, isLast }) => {
    heardAt = Date.now();
    // Nothing more is begun; who still hands over hears of it when this run is gone.
    if (control === 'cancel') return void tell(workflowId, 'cancel');
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
    const total = batches.reduce((sum, { size }) => sum + size, 0);
    return { total, isComplete, isOver, control, counts: counts() };
  });

  try {
    for (;;) {
      const [batch] = undone();
      if (batch === undefined && (isComplete || isQuiet || control === 'cancel')) break;
      if (workflowInfo().continueAsNewSuggested) {
        await condition(allHandlersFinished);
        return await continueAsNew<typeof backfill>({ ...plain, carried: { batches, isComplete, control } });
      }
      if (control === 'cancel' && !isDropped) await dropTheRest();
      else if (batch === undefined) isQuiet = !(await condition(isNews, untilQuiet()));
      else await giveTurn(batch);
    }
  } catch (error) {
    if (isCancellation(error)) await CancellationScope.nonCancellable(dropTheRest);
    throw error;
  }
  isOver = true;
  if (!isComplete) log.warn('a backfill ends without all of its ids', { control });
  await condition(allHandlersFinished);
  return { ...counts(), batches: batches.map(({ workflowId }) => workflowId), isComplete };

  /** Until the batch is over, or something else is to be done first. */
  async function giveTurn(batch: Batch): Promise<void> {
    let isThere = true;
    if (batch.state === 'waiting') {
      batch.state = 'running';
      if (control !== 'pause') isThere = await tell(batch.workflowId, control);
    }
    const isHeard = isThere && (await condition(() => batch.state === 'done' || isToDrop(), lookAfter));
    if (isHeard) return;
    const end = await findBatchEnd({ workflowId: batch.workflowId });
    if (end.state === 'completed') settle(batch, end.counts);
    if (end.state === 'broken-off') settle(batch, { ...noBackfillCounts(), cancelled: batch.size });
  }

  /** Whoever gave up on the whole does not wait for one batch after the other. */
  async function dropTheRest(): Promise<void> {
    isDropped = true;
    const rest = undone();
    for (const batch of rest) batch.state = 'running';
    for (let from = 0; from < rest.length; from += TOLD_AT_ONCE) {
      const some = rest.slice(from, from + TOLD_AT_ONCE);
      await Promise.all(some.map(({ workflowId }) => tell(workflowId, 'cancel')));
    }
  }

  function isToDrop(): boolean {
    return control === 'cancel' && !isDropped;
  }

  function isNews(): boolean {
    return undone().length > 0 || isComplete || control === 'cancel';
  }

  function untilQuiet(): number {
    return Math.max(heardAt + quietAfter - Date.now(), 1);
  }

  /**
   * Also while this workflow is being cancelled: nobody waits for a handler, whose failure would stall the run.
   *
   * @returns false: the batch is over, or was ended by somebody
   */
  async function tell(workflowId: string, wanted: BackfillControl): Promise<boolean> {
    const batch = getExternalWorkflowHandle(workflowId);
    try {
      await CancellationScope.nonCancellable(() => batch.signal(backfillControlSignal, wanted));
      return true;
    } catch {
      return false;
    }
  }
}

function settle(batch: Batch, counts: BackfillCounts): void {
  batch.counts = counts;
  batch.state = 'done';
}

function addCounts(one: BackfillCounts, other: BackfillCounts): BackfillCounts {
  const keys = Object.keys(one) as (keyof BackfillCounts)[];
  return Object.fromEntries(keys.map((key) => [key, one[key] + other[key]])) as unknown as BackfillCounts;
}
