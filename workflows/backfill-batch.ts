/** Only invoices that need work get a workflow, a limited number at a time. */

import {
  ActivityFailure,
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
import type { BillingActivities, Finding } from './activities.ts';
import { type SurveyActivities, surveyActivities, taskQueuesOfWorkflow } from './activity-options.ts';
import {
  type BackfillBatchInput,
  type BackfillBatchResult,
  type BackfillCounts,
  type BackfillOutcome,
  type BackfillReply,
  backfillBatchOverSignal,
  backfillBatchProgressQuery,
  backfillControlSignal,
  backfillReplySignal,
  type InvoiceToLookUp,
  noBackfillCounts,
} from './messages.ts';
import { DEFAULT_PACE, inMilliseconds } from './pace.ts';

/** Invoices started by one activity: fewer history events, and a retry repeats little. */
const START_SIZE = 10;
const SLICE_SIZE = 250;
/** An invoice without a reply for so long counts as `pending`, and its workflow continues. */
const REPLY_TIMEOUT_MS = 3_600_000;

/** The workflow of a batch continues as new when its history grows (ADR 14). */
export async function backfillBatch(input: BackfillBatchInput): Promise<BackfillBatchResult> {
  const { startLookUps, getBackfillStatus } = proxyActivities<BillingActivities>({
    startToCloseTimeout: '1 min',
    retry: { initialInterval: '1 s', maximumInterval: '1 min' },
  });
  const survey = surveyActivities({ ...DEFAULT_PACE, ...input.pace });
  const waiting = [...input.invoiceIds];
  const toStart: InvoiceToLookUp[] = [...(input.toStart ?? [])];
  const inProgress = new Map<string, number>(input.inProgress);
  const results: BackfillOutcome[] = [...(input.results ?? [])];
  const known = new Set(results.map(({ invoiceId }) => invoiceId));
  const checkAfter = inMilliseconds(input.checkAfter ?? '10 min');
  let control = input.control;
  let surveyScope: CancellationScope | null = null;
  let isInterrupted = false;

  setHandler(backfillControlSignal, (request) => {
    if (control !== 'cancel') control = request;
    if (control === 'resume' || surveyScope === null) return;
    isInterrupted = true;
    surveyScope.cancel();
  });
  setHandler(backfillReplySignal, (reply) => applyReply(reply));
  setHandler(backfillBatchProgressQuery, () => ({
    ...{ results, inProgress: inProgress.size, waiting: waiting.length + toStart.length, control },
  }));

  const hasRoom = (): boolean => control === 'resume' && inProgress.size < input.concurrency;
  const mayStart = (): boolean => hasRoom() && toStart.length > 0;
  const maySurvey = (): boolean => hasRoom() && toStart.length === 0 && waiting.length > 0;
  const isUnstarted = (): boolean => waiting.length > 0 || toStart.length > 0;
  for (;;) {
    if (control === 'cancel') cancelUnstarted();
    expireLate();
    if (!isUnstarted() && inProgress.size === 0) break;
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      const carried = { invoiceIds: waiting, toStart, inProgress: [...inProgress], results, control };
      return continueAsNew<typeof backfillBatch>({ ...input, ...carried });
    }
    if (mayStart()) await startSome();
    else if (maySurvey()) await surveySlice();
    else if (inProgress.size > 0) await condition(hasNews, untilNextIsLate());
    else if (!(await condition(hasNews, checkAfter))) {
      const { state } = await getBackfillStatus({ workflowId: input.replyTo });
      if (state !== 'open') control = 'cancel';
    }
  }
  await condition(allHandlersFinished);
  const counts = countStates(results);
  await reportCounts(input.replyTo, counts);
  return { counts };

  /** A pause or cancellation interrupts the survey of a slice, which is then made again. */
  async function surveySlice(): Promise<void> {
    const invoiceIds = waiting.slice(0, SLICE_SIZE);
    const concurrency = input.concurrency - inProgress.size;
    surveyScope = new CancellationScope();
    isInterrupted = false;
    try {
      const findings = await surveyScope.run(() => surveyInvoices(survey, invoiceIds, concurrency));
      waiting.splice(0, invoiceIds.length);
      for (const [index, finding] of findings.entries()) {
        const invoiceId = invoiceIds[index] ?? '';
        if (finding === 'work' || finding === 'file-in-doubt')
          toStart.push({ invoiceId, isFileInDoubt: finding === 'file-in-doubt' });
        else addResult(invoiceId, finding, null);
      }
    } catch (error) {
      // `control` may have changed to `resume` meanwhile, so it is read again.
      if (!isCancellation(error) || !isInterrupted) throw error;
    } finally {
      surveyScope = null;
    }
  }

  async function startSome(): Promise<void> {
    const invoices = toStart.splice(0, Math.min(input.concurrency - inProgress.size, START_SIZE));
    // The invoices are noted before the call, because a reply may arrive before the activity completes.
    for (const { invoiceId } of invoices) inProgress.set(invoiceId, Date.now());
    await startLookUps({
      ...{ environment: input.environment, partnerId: input.partnerId, invoices },
      replyTo: workflowInfo().workflowId,
      queues: taskQueuesOfWorkflow(),
      ...(input.pace ? { pace: input.pace } : {}),
    });
  }

  function applyReply({ invoiceId: spelling, state, reason }: BackfillReply): void {
    // The invoice's workflow may have been started with another spelling of the id.
    const invoiceId = [...inProgress.keys()].find((id) => id.toLowerCase() === spelling.toLowerCase());
    if (invoiceId === undefined) return;
    addResult(invoiceId, state === 'finalized' ? 'pending' : state, reason);
  }

  function addResult(invoiceId: string, state: keyof BackfillCounts, reason: string | null): void {
    inProgress.delete(invoiceId);
    if (known.has(invoiceId)) return;
    known.add(invoiceId);
    results.push({ invoiceId, state, reason });
  }

  function cancelUnstarted(): void {
    const unstarted = [...waiting.splice(0), ...toStart.splice(0).map(({ invoiceId }) => invoiceId)];
    for (const invoiceId of unstarted) addResult(invoiceId, 'cancelled', null);
  }

  function expireLate(): void {
    for (const [invoiceId, since] of inProgress) {
      if (Date.now() - since >= REPLY_TIMEOUT_MS) addResult(invoiceId, 'pending', null);
    }
  }

  function untilNextIsLate(): number {
    return Math.max(Math.min(...inProgress.values()) + REPLY_TIMEOUT_MS - Date.now(), 1);
  }

  /** Returns true only when the loop can proceed, because it would otherwise spin. */
  function hasNews(): boolean {
    const isEmpty = !isUnstarted() && inProgress.size === 0;
    return mayStart() || maySurvey() || isEmpty || (control === 'cancel' && isUnstarted());
  }
}

async function surveyInvoices(
  activities: SurveyActivities,
  invoiceIds: readonly string[],
  concurrency: number,
): Promise<readonly Finding[]> {
  try {
    const ledgerStatuses = await activities.readLedgerStatuses({ invoiceIds });
    return await activities.surveyInvoices({ invoiceIds, ledgerStatuses, concurrency });
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
    log.warn('the service did not answer for a slice of a backfill; each invoice queries it separately');
    return invoiceIds.map(() => 'work');
  }
}

async function reportCounts(replyTo: string, counts: BackfillCounts): Promise<void> {
  const { workflowId } = workflowInfo();
  try {
    await getExternalWorkflowHandle(replyTo).signal(backfillBatchOverSignal, { workflowId, counts });
  } catch (error) {
    if (isCancellation(error)) throw error;
  }
}

function countStates(results: readonly BackfillOutcome[]): BackfillCounts {
  const counts: Record<keyof BackfillCounts, number> = { ...noBackfillCounts() };
  for (const { state } of results) counts[state] += 1;
  return counts;
}
