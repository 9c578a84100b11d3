/**
 * A few hundred invoices of a backfill, and a result for each. Slice by slice the ledger and the service are asked;
 * what is as it should be is a result at once, and only the rest gets a workflow each, so many in work at a time.
 */

import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { BillingActivities } from '../activities/create-activities.ts';
import type { InvoiceToLookUp } from '../activities/start-look-ups.ts';
import {
  type BackfillBatchInput,
  type BackfillBatchResult,
  type BackfillCounts,
  type BackfillOutcome,
  backfillBatchOverSignal,
  backfillBatchProgressQuery,
  backfillControlSignal,
  noBackfillCounts,
} from './backfill-messages.ts';
import { type BackfillReply, backfillReplySignal } from './messages.ts';
import { surveyActivities } from './options.ts';
import { DEFAULT_PACE, inMilliseconds } from './pace.ts';
import { surveySlice } from './survey-slice.ts';

/** So many invoices are started by one activity: fewer events in the history, and a retry repeats little. */
const STARTED_AT_ONCE = 10;
/** So many are asked about by one activity: its results are told together, and a pause waits for none of it. */
const SLICE = 250;

/** A child of `backfill`; continues as new when its history grows (ADR 14). */
export async function backfillBatch(input: BackfillBatchInput): Promise<BackfillBatchResult> {
  const { startLookUps, isWorkflowOpen } = proxyActivities<BillingActivities>({
    startToCloseTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min' },
  });
  const survey = surveyActivities({ ...DEFAULT_PACE, ...input.pace });
  const waiting = [...input.invoiceIds];
  const toStart: InvoiceToLookUp[] = [...(input.toStart ?? [])];
  const inWork = new Map<string, number>(input.inWork);
  const results: BackfillOutcome[] = [...(input.results ?? [])];
  const known = new Set(results.map(({ invoiceId }) => invoiceId));
  const patience = inMilliseconds(input.replyWithin as `${number}`);
  const lookAfter = inMilliseconds((input.lookAfter ?? '10 min') as `${number}`);
  let control = input.control;
  let surveying: CancellationScope | null = null;
  let isInterrupted = false;

  setHandler(backfillControlSignal, (wanted) => {
    if (control !== 'cancel') control = wanted;
    if (control === 'resume' || surveying === null) return;
    isInterrupted = true;
    surveying.cancel();
  });
  setHandler(backfillReplySignal, (reply) => note(reply));
  setHandler(backfillBatchProgressQuery, () => ({
    ...{ results, inWork: inWork.size, waiting: waiting.length + toStart.length, control },
  }));

  const hasRoom = (): boolean => control === 'resume' && inWork.size < input.concurrency;
  const mayStart = (): boolean => hasRoom() && toStart.length > 0;
  const maySurvey = (): boolean => hasRoom() && toStart.length === 0 && waiting.length > 0;
  const isUnbegun = (): boolean => waiting.length > 0 || toStart.length > 0;
  for (;;) {
    if (control === 'cancel') drop();
    giveUpOnTheLate();
    if (!isUnbegun() && inWork.size === 0) break;
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      const carried = { invoiceIds: waiting, toStart, inWork: [...inWork], results, control };
      return continueAsNew<typeof backfillBatch>({ ...input, ...carried });
    }
    if (mayStart()) await startSome();
    else if (maySurvey()) await surveySome();
    else if (inWork.size > 0) await condition(isNews, untilNextIsLate());
    else if (!(await condition(isNews, lookAfter)) && !(await isWorkflowOpen({ workflowId: input.replyTo })))
      control = 'cancel'; // Nobody is left who could give it its turn.
  }
  await condition(allHandlersFinished);
  const counts = count(results);
  await sayOver(input.replyTo, counts);
  return { counts };

  /** Only as many at once as may be in work beside those that are. What a pause or an end interrupts is asked again. */
  async function surveySome(): Promise<void> {
    const invoiceIds = waiting.slice(0, SLICE);
    const atOnce = input.concurrency - inWork.size;
    surveying = new CancellationScope();
    isInterrupted = false;
    try {
      const findings = await surveying.run(() => surveySlice(survey, { invoiceIds, atOnce }));
      waiting.splice(0, invoiceIds.length);
      for (const [index, finding] of findings.entries()) {
        const invoiceId = invoiceIds[index] ?? '';
        if (finding === 'work' || finding === 'file-in-doubt')
          toStart.push({ invoiceId, isFileInDoubt: finding === 'file-in-doubt' });
        else settle(invoiceId, finding, null);
      }
    } catch (error) {
      // Not by what is wished for now: it may have been resumed in the same moment.
      if (!isCancellation(error) || !isInterrupted) throw error;
    } finally {
      surveying = null;
    }
  }

  async function startSome(): Promise<void> {
    const invoices = toStart.splice(0, Math.min(input.concurrency - inWork.size, STARTED_AT_ONCE));
    // Before the call: an answer may arrive before the activity is told to be done.
    for (const { invoiceId } of invoices) inWork.set(invoiceId, Date.now());
    await startLookUps({
      ...{ environment: input.environment, partnerId: input.partnerId, invoices },
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

  function drop(): void {
    const unbegun = [...waiting.splice(0), ...toStart.splice(0).map(({ invoiceId }) => invoiceId)];
    for (const invoiceId of unbegun) settle(invoiceId, 'cancelled', null);
  }

  function giveUpOnTheLate(): void {
    for (const [invoiceId, since] of inWork) {
      if (Date.now() - since >= patience) settle(invoiceId, 'pending', null);
    }
  }

  function untilNextIsLate(): number {
    return Math.max(Math.min(...inWork.values()) + patience - Date.now(), 1);
  }

  /** False whenever there is nothing to do: a condition that holds without reason would spin for ever. */
  function isNews(): boolean {
    const isEmpty = !isUnbegun() && inWork.size === 0;
    return mayStart() || maySurvey() || isEmpty || (control === 'cancel' && isUnbegun());
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
