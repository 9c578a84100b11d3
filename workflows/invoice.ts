/**
 * Signals only queue. A business failure never ends the run: the invoice needs attention and waits for a retry or a
 * new event. A void cancels any step, once a commit in progress has ended.
 */

import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';
import type { ExportLocation } from '../lib/wire/invoice-event.ts';
import type { WebhookStatus } from '../lib/wire/names.ts';
import { failureOf, reactionTo } from './failure.ts';
import { fetchAndLoad, findRepairedFile } from './invoice-file.ts';
import { InvoiceRun, type Requests } from './invoice-run.ts';
import * as lifecycle from './lifecycle.ts';
import type { InvoiceInput, InvoiceResult } from './messages.ts';
import { inMilliseconds, nthPause } from './pace.ts';

/** After three series without an answer the failure is recorded, and the next reconciliation starts another recheck. */
const MAX_RECHECK_SERIES = 3;

/** The workflow of one invoice; there is one open run per invoice id (ADR 1). */
export async function invoice(input: InvoiceInput): Promise<InvoiceResult> {
  const run = new InvoiceRun(input);
  if (input.carried === undefined && run.events.length === 0) await run.startFromLedger();
  for (;;) {
    await run.recordEvents();
    if (workflowInfo().continueAsNewSuggested && !run.hasNews) return run.continueAsNew();
    const step = lifecycle.nextStep(run.knowledge);
    // A load usually ends within seconds, so its start is not published.
    if (step !== 'load' || run.attempts.failedSeries > 0) run.updateSearchAttributes();
    switch (step) {
      case 'look-up': {
        const answer = await lookUp(run);
        if (answer.outcome === 'failed') await run.backOff();
        else if (answer.outcome === 'unknown' && !run.hasNews && (await endRun(run, 'unknown')))
          return { state: 'unknown', sha256: run.knowledge.loadedSha256 };
        break;
      }
      case 'wait':
        await waitForFinalized(run);
        break;
      case 'load':
        // The void event may have been lost as well. A service that does not answer must not delay the file.
        if (run.requests.isRecheck && (await lookUp(run)).outcome !== 'failed') break;
        await run.unlessVoided(() => fetchAndLoad(run));
        break;
      case 'void':
        await run.applyVoid();
        break;
      case 'confirm':
        await confirmVoid(run);
        break;
      case 'attention':
        await waitForPerson(run);
        break;
      case 'done':
        if (run.hadAttention) {
          run.hadAttention = false;
          if (run.knowledge.rank === 'finalized') await run.clearAttention();
        }
        if (await isSettled(run)) {
          return { state: lifecycle.stateOf(run.knowledge), sha256: run.knowledge.loadedSha256 };
        }
    }
  }
}

type LookUp =
  | { readonly outcome: 'known' }
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'failed'; readonly message: string };

async function lookUp(run: InvoiceRun): Promise<LookUp> {
  const requests = run.takeRequests();
  try {
    const { isKnown, status, location } = await queryStatus(run, requests);
    run.attempts.failedSeries = 0;
    // The service has answered, so a recorded failure to reach it is over; a missing file is over with a load.
    if (run.recordedFailure === 'recheck-unanswered' || run.knowledge.rank !== 'finalized')
      await run.recordFailure(null);
    run.freshUrl = location;
    run.knowledge = lifecycle.applyStatus(run.knowledge, status ?? (isKnown ? 'draft' : null));
    return { outcome: isKnown ? 'known' : 'unknown' };
  } catch (error) {
    const { code, message } = failureOf(error);
    run.attempts.failedSeries += 1;
    run.restoreRequests(requests);
    const { rank, loadedSha256 } = run.knowledge;
    if (rank !== 'nothing' && loadedSha256 === null)
      await run.recordFailure({ code, reason: `${message} It is retried automatically.` });
    return { outcome: 'failed', message };
  }
}

interface Status {
  /** False when both details and regenerate answered 404. */
  readonly isKnown: boolean;
  readonly status: WebhookStatus | null;
  readonly location: ExportLocation | null;
}

/** The shape of the details is not specified (4.4), so regenerate decides. @throws ActivityFailure */
async function queryStatus(run: InvoiceRun, { isRecheck }: Requests): Promise<Status> {
  const { activities, input } = run;
  const { invoiceId } = input;
  let details: Details | null = null;
  let detailsError: unknown = null;
  try {
    details = await queryDetails(run);
  } catch (error) {
    const failure = failureOf(error);
    const { reaction, scope } = reactionTo(failure);
    // When only this endpoint does not work, the other one may.
    const isEndpointBroken = scope !== 'service' && reaction !== 'retry';
    if (!isEndpointBroken && failure.code !== 'server-fault') throw error;
    detailsError = error;
  }
  // An unknown status may mean voided, so an existing file is no proof of approval.
  if (details !== null && (details.status !== null || details.unknownStatus !== null)) {
    const { status } = details;
    const location = isRecheck && status === 'finalized' ? await nameFile(run) : null;
    return { isKnown: true, status, location };
  }
  const answer = await activities.regenerateUrl({ invoiceId });
  if (answer.outcome !== 'location') {
    if (detailsError !== null) throw detailsError;
    const isKnown = details !== null || answer.outcome !== 'not-exported';
    return { isKnown, status: null, location: null };
  }
  // An invoice that has a file is finalized.
  const { partnerId = null } = answer;
  await activities.recordDetails({ invoiceId, status: 'finalized', partnerId, header: {} });
  return { isKnown: true, status: 'finalized', location: answer.location };
}

/** Returns null when the service names no file, or when this endpoint does not work. @throws ActivityFailure there is no answer */
async function nameFile({ activities, input: { invoiceId } }: InvoiceRun): Promise<ExportLocation | null> {
  try {
    const answer = await activities.regenerateUrl({ invoiceId });
    return answer.outcome === 'location' ? answer.location : null;
  } catch (error) {
    if (reactionTo(failureOf(error)).reaction === 'retry') throw error;
    return null;
  }
}

interface Details {
  readonly status: WebhookStatus | null;
  readonly unknownStatus: string | null;
}

async function queryDetails({ activities, input: { invoiceId } }: InvoiceRun): Promise<Details | null> {
  await activities.fetchToken();
  const details = await activities.lookUpInvoice({ invoiceId });
  if (details.outcome === 'not-found') return null;
  const { status, unknownStatus = null, partnerId = null, header } = details;
  await activities.recordDetails({ invoiceId, status, unknownStatus, partnerId, header });
  return { status, unknownStatus };
}

async function waitForFinalized(run: InvoiceRun): Promise<void> {
  const { isLookUp, isRetry } = run.requests;
  if ((isLookUp || isRetry) && (await lookUp(run)).outcome === 'failed') return run.backOff();
  if (lifecycle.nextStep(run.knowledge) !== 'wait') return;
  await run.reply({ state: 'draft', reason: null });
  // The first pause counts from the run's scheduled start, which may have been delayed by that pause (ADR 1).
  const { overdueChecks } = run.attempts;
  const passed = overdueChecks === 0 ? Date.now() - workflowInfo().startTime.getTime() : 0;
  const pause = Math.max(1, nthPause(run.pace.overdueAfter, overdueChecks) - passed);
  if (await condition(() => run.hasNews, pause)) return;
  run.attempts.overdueChecks += 1;
  run.requests = { ...run.requests, isLookUp: true };
}

/**
 * ADR 19: the invoice is out of every total already. A denial is checked again after each pause, then a person
 * decides.
 */
async function confirmVoid(run: InvoiceRun): Promise<void> {
  const { pace, attempts } = run;
  if (!pace.confirmVoids) {
    run.knowledge = lifecycle.setVoidBasis(run.knowledge, 'unanswered');
    return;
  }
  run.takeRequests();
  const answer = await queryVoid(run);
  switch (answer.outcome) {
    case 'confirmed':
      return settleVoid(run, 'details');
    case 'unanswerable':
      return leaveUnconfirmed(run, answer.message);
    case 'failed':
      if (attempts.pausedMs < inMilliseconds(pace.attentionAfter)) return run.backOffAfterSeries();
      return leaveUnconfirmed(run, answer.message);
    case 'denied': {
      const pause = pace.confirmVoidAfter[attempts.denials];
      attempts.denials += 1;
      if (pause !== undefined) return pauseBeforeConfirming(run, inMilliseconds(pause));
      const reason = `An event voided it, and the service states that it is ${answer.status}. No total includes it until this is settled. \`billsync invoices restore\` brings it back; once the service states voided too, \`billsync invoices retry\` ends this.`;
      attempts.denials = 0;
      await run.requireAttention({ code: lifecycle.VOID_CONTRADICTED, reason });
      // When the invoice needs no attention any more, a new event has arrived, and the void is confirmed once more.
      if (run.knowledge.attention !== null) {
        run.knowledge = lifecycle.setVoidBasis(run.knowledge, 'contradicted');
      }
    }
  }
}

type VoidAnswer =
  | { readonly outcome: 'confirmed' }
  | { readonly outcome: 'denied'; readonly status: WebhookStatus }
  /** With `unanswerable`, no retry can get an answer. */
  | { readonly outcome: 'unanswerable' | 'failed'; readonly message: string };

/** Only the details answer about a void, because an existing file proves nothing about it. */
async function queryVoid(run: InvoiceRun): Promise<VoidAnswer> {
  try {
    const details = await queryDetails(run);
    if (details === null)
      return { outcome: 'unanswerable', message: 'The service answers 404 to a request for its details.' };
    const { status } = details;
    if (status === 'voided') return { outcome: 'confirmed' };
    if (status !== null) return { outcome: 'denied', status };
    return { outcome: 'unanswerable', message: 'Its details contain no known status.' };
  } catch (error) {
    const failure = failureOf(error);
    const { reaction } = reactionTo(failure);
    return { outcome: reaction === 'retry' ? 'failed' : 'unanswerable', message: failure.message };
  }
}

function settleVoid(run: InvoiceRun, basis: 'details' | 'unanswered'): void {
  run.resetSeries();
  run.attempts.denials = 0;
  run.knowledge = lifecycle.setVoidBasis(run.knowledge, basis);
}

async function leaveUnconfirmed(run: InvoiceRun, message: string): Promise<void> {
  const reason = `An event voided it, and the service could not confirm that: ${message}`;
  await run.recordFailure({ code: 'void-unconfirmed', reason });
  settleVoid(run, 'unanswered');
}

/** Pauses, records the events that arrive, and ends early only for a request. */
async function pauseBeforeConfirming(run: InvoiceRun, milliseconds: number): Promise<void> {
  const until = Date.now() + milliseconds;
  while (Date.now() < until && !run.requests.isLookUp && !run.requests.isRetry) {
    if (run.events.length > 0) await run.recordEvents();
    else await condition(() => run.hasNews, until - Date.now());
  }
  if (run.hasNews) await run.applyRestore();
}

async function isVoidResolved(run: InvoiceRun): Promise<boolean> {
  run.takeRequests();
  if (await run.applyRestore()) return true;
  const { outcome } = await queryVoid(run);
  if (outcome !== 'confirmed') return false;
  settleVoid(run, 'details');
  await run.applyVoid();
  return true;
}

async function waitForPerson(run: InvoiceRun): Promise<void> {
  if (run.knowledge.rank === 'voided' && run.hasNews) {
    if (await isVoidResolved(run)) return;
  } else if (run.requests.isRetry) {
    run.takeRequests();
    return retry(run);
  }
  if (run.requests.isRecheck && (await lookUp(run)).outcome === 'failed') return run.backOff();
  run.takeRequests();
  const { attention } = run.knowledge;
  await run.reply({ state: 'needs_attention', reason: attention?.reason ?? null });
  if (attention?.code === 'csv-rejected') await waitForRepair(run);
  else await condition(() => run.hasNews);
}

/** Waits without a limit, because the service may repair a rejected file. */
async function waitForRepair(run: InvoiceRun): Promise<void> {
  const pause = nthPause(run.pace.repairAfter, run.attempts.repairChecks);
  if (await condition(() => run.hasNews, pause)) return;
  run.attempts.repairChecks += 1;
  const repaired = await findRepairedFile(run);
  if (repaired === null || run.hasNews) return;
  run.freshUrl = repaired.location;
  await retry(run);
}

async function retry(run: InvoiceRun): Promise<void> {
  run.resetSeries();
  run.knowledge = lifecycle.clearAttention(run.knowledge);
  await run.clearAttention();
}

async function isSettled(run: InvoiceRun): Promise<boolean> {
  const isVoided = run.knowledge.rank === 'voided';
  if (run.requests.isRecheck && !isVoided) {
    await recheck(run);
    return false;
  }
  // A person's restore reaches the run only through the ledger.
  if (run.hasNews && isVoided) {
    run.takeRequests();
    if (await run.applyRestore()) return false;
  }
  run.takeRequests();
  return endRun(run, lifecycle.stateOf(run.knowledge));
}

async function recheck(run: InvoiceRun): Promise<void> {
  const { isFileInDoubt } = run.requests;
  const answer = await lookUp(run);
  if (answer.outcome !== 'failed') {
    // The next step compares the file that the service names with the loaded one.
    if (isFileInDoubt || run.freshUrl !== null) run.knowledge = lifecycle.requireReload(run.knowledge);
    return;
  }
  if (run.attempts.failedSeries < MAX_RECHECK_SERIES) return run.backOff();
  const reason = `Three requests whether it is voided got no answer from the service: ${answer.message}`;
  await run.recordFailure({ code: 'recheck-unanswered', reason }, true);
  run.takeRequests();
}

async function endRun(run: InvoiceRun, state: InvoiceResult['state']): Promise<boolean> {
  run.updateSearchAttributes();
  await run.reply({ state, reason: null });
  await condition(allHandlersFinished);
  return !run.hasNews;
}
