/** A few hundred invoices of a backfill: so many in work at once, and a result for each. */

import {
  allHandlersFinished,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingActivities } from '../activities/create-activities.js';
import {
  type BackfillBatchInput,
  type BackfillBatchResult,
  type BackfillCounts,
  type BackfillOutcome,
  backfillBatchOverSignal,
  backfillBatchProgressQuery,
  backfillControlSignal,
  noBackfillCounts,
} from './backfill-messages.js';
import { type BackfillReply, backfillReplySignal } from './messages.js';
import { inMilliseconds } from './pace.js';

/** So many invoices are started by one activity: fewer events in the history, and a retry repeats little. */
const STARTED_AT_ONCE = 10;

export async function backfillBatch(input: BackfillBatchInput): Promise<BackfillBatchResult> {
  const { startLookUps } = proxyActivities<BillingActivities>({
    startToCloseTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min' },
  });
  const waiting = [...input.invoiceIds];
  const inWork = new Map<string, number>(input.inWork);
  const results: BackfillOutcome[] = [...(input.results ?? [])];
  const known = new Set(results.map(({ invoiceId }) => invoiceId));
  const patience = inMilliseconds(input.replyWithin as `${number}`);
  let control = input.control;

  setHandler(backfillControlSignal, (wanted) => {
    if (control !== 'cancel') control = wanted;
  });
  setHandler(backfillReplySignal, (reply) => note(reply));
  setHandler(backfillBatchProgressQuery, () => ({
    ...{ results, inWork: inWork.size, waiting: waiting.length, control },
  }));

  const mayStart = (): boolean =>
    control === 'resume' && waiting.length > 0 && inWork.size < input.concurrency;
  for (;;) {
    if (control === 'cancel') for (const invoiceId of waiting.splice(0)) settle(invoiceId, 'cancelled', null);
    giveUpOnTheLate();
    if (waiting.length === 0 && inWork.size === 0) break;
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      const carried = { invoiceIds: waiting, inWork: [...inWork], results, control };
      return continueAsNew<typeof backfillBatch>({ ...input, ...carried });
    }
    if (mayStart()) await startSome();
    else await condition(() => isNews(), untilNextIsLate());
  }
  await condition(allHandlersFinished);
  const counts = count(results);
  if (input.replyTo !== undefined) await sayOver(input.replyTo, counts);
  return { counts };

  async function startSome(): Promise<void> {
    const free = Math.min(input.concurrency - inWork.size, STARTED_AT_ONCE);
    const invoiceIds = waiting.splice(0, free);
    // Before the call: an answer may arrive before the activity is told to be done.
    for (const invoiceId of invoiceIds) inWork.set(invoiceId, Date.now());
    await startLookUps({
      ...{ environment: input.environment, partnerId: input.partnerId, invoiceIds },
      replyTo: workflowInfo().workflowId,
      billingQueue: workflowInfo().taskQueue,
      ...(input.pace ? { pace: input.pace } : {}),
    });
  }

  /** An answer counts once; one that comes after we stopped waiting is told by the invoice itself. */
  function note({ invoiceId: spelled, state, reason }: BackfillReply): void {
    // The invoice's own workflow may have heard of it in another spelling.
    const invoiceId = [...inWork.keys()].find((id) => id.toLowerCase() === spelled.toLowerCase());
    if (invoiceId === undefined) return;
    settle(invoiceId, state === 'finalized' ? 'pending' : state, reason);
  }

  function settle(invoiceId: string, state: keyof BackfillCounts, reason: string | null): void {
    inWork.delete(invoiceId);
    if (known.has(invoiceId)) return;
    known.add(invoiceId);
    results.push({ invoiceId, state, reason });
  }

  function giveUpOnTheLate(): void {
    for (const [invoiceId, since] of inWork) {
      if (Date.now() - since >= patience) settle(invoiceId, 'pending', null);
    }
  }

  function untilNextIsLate(): number {
    const oldest = Math.min(...inWork.values());
    return Number.isFinite(oldest) ? Math.max(oldest + patience - Date.now(), 1) : 86_400_000;
  }

  /** False whenever there is nothing to do: a condition that holds without reason would spin for ever. */
  function isNews(): boolean {
    const isEmpty = waiting.length === 0 && inWork.size === 0;
    return mayStart() || isEmpty || (control === 'cancel' && waiting.length > 0);
  }
}

/** Who asked may be gone; then nobody needs to know. */
async function sayOver(replyTo: string, counts: BackfillCounts): Promise<void> {
  const { workflowId } = workflowInfo();
  try {
    await getExternalWorkflowHandle(replyTo).signal(backfillBatchOverSignal, { workflowId, counts });
  } catch (error) {
    if (isCancellation(error)) throw error;
  }
}

function count(results: readonly BackfillOutcome[]): BackfillCounts {
  const counts: Record<keyof BackfillCounts, number> = { ...noBackfillCounts() };
  for (const { state } of results) counts[state] += 1;
  return counts;
}
