/**
 * One invoice, from the first event until it is loaded or voided.
 *
 * Signals only queue. One loop stores each event in the ledger, asks the pure lifecycle for the next step and performs
 * it. A business failure never ends the run: the invoice needs attention and waits for a retry or a new event. A void
 * cancels any step, once a commit in progress has ended.
 */

import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';
import type { ExportLocation, WebhookStatus } from '../lib/wire/names.ts';
import type { LoadInvoiceResult, LookUpInvoiceResult } from './activities.ts';
import { failureOf, reactionTo } from './failure.ts';
import { type FetchedFile, fetchFile, findRepairedFile } from './invoice-file.ts';
import {
  applyRestore,
  applyVoid,
  clearAttention,
  recordEvents,
  requireAttention,
  startFromLedger,
  unlessVoided,
} from './invoice-ledger.ts';
import { InvoiceRun } from './invoice-run.ts';
import { confirmVoid, isVoidResolved } from './invoice-void.ts';
import type { Announcement } from './lifecycle.ts';
import * as lifecycle from './lifecycle.ts';
import type { InvoiceInput, InvoiceResult } from './messages.ts';
import { inMilliseconds, nthPause } from './pace.ts';

const RETRIED = 'It is retried automatically.';
const RETRY_HINT = 'Once the cause is gone, `billsync invoices retry` tries again; so does a new event.';

/** One run per invoice id (ADR 1); ends when the invoice is loaded or voided and no request is left. */
export async function invoice(input: InvoiceInput): Promise<InvoiceResult> {
  const run = new InvoiceRun(input);
  if (input.carried === undefined && run.events.length === 0) await startFromLedger(run);
  for (;;) {
    await recordEvents(run);
    if (workflowInfo().continueAsNewSuggested && !run.hasNews) return run.continueAsNew();
    const step = lifecycle.nextStep(run.knowledge);
    // A load usually ends within seconds, so its start is not published.
    if (step !== 'load' || run.failedSeries > 0) run.updateSearchAttributes();
    switch (step) {
      case 'void':
        await applyVoid(run);
        break;
      case 'confirm':
        await confirmVoid(run);
        break;
      case 'load':
        // The void event may have been lost as well. A service that does not answer must not delay the file.
        if (run.requests.isRecheck && (await lookUp(run)) !== null) break;
        await unlessVoided(run, () => fetchAndLoad(run));
        break;
      case 'wait':
        await waitForFinalized(run);
        break;
      case 'look-up': {
        const answer = await lookUp(run);
        if (answer === null) await run.backOff();
        else if (!answer.isKnown && !run.hasNews && (await end(run, 'unknown')))
          return result(run, 'unknown');
        break;
      }
      case 'attention':
        await waitForPerson(run);
        break;
      case 'done':
        if (run.hadAttention) {
          run.hadAttention = false;
          if (run.knowledge.rank === 'finalized') await clearAttention(run);
        }
        if (await isSettled(run)) return result(run, lifecycle.stateOf(run.knowledge));
    }
  }
}

function result(run: InvoiceRun, state: InvoiceResult['state']): InvoiceResult {
  return { state, sha256: run.knowledge.loadedSha256 };
}

// Questions to the service

interface Answer {
  /** false: 404 from details and from regenerate. */
  readonly isKnown: boolean;
  /** null: none that we know. */
  readonly status: WebhookStatus | null;
  /** A fresh URL, if the file turned out to exist. */
  readonly location: ExportLocation | null;
}

/** @returns null when the service could not be asked */
async function lookUp(run: InvoiceRun): Promise<Answer | null> {
  const requests = run.takeRequests();
  try {
    const answer = await queryStatus(run);
    run.failedSeries = 0;
    // A failure to ask ends with an answer; a missing file ends with a load.
    if (run.recordedFailure === 'recheck-unanswered' || run.knowledge.rank !== 'finalized')
      await run.recordFailure(null);
    run.freshUrl = answer.location;
    const status = answer.status ?? (answer.isKnown ? 'draft' : null);
    run.knowledge = lifecycle.applyStatus(run.knowledge, status);
    return answer;
  } catch (error) {
    const failure = failureOf(error);
    run.fail(failure);
    run.failedSeries += 1;
    run.restoreRequests(requests);
    const { rank, loadedSha256 } = run.knowledge;
    if (rank !== 'nothing' && loadedSha256 === null) {
      await run.recordFailure({ code: failure.code, reason: `${failure.message} ${RETRIED}` });
    }
    return null;
  }
}

/** Details for the status, then regenerate: the shape of the details is not specified (4.4). @throws ActivityFailure */
async function queryStatus({ activities, input: { invoiceId } }: InvoiceRun): Promise<Answer> {
  await activities.fetchToken();
  let details: LookUpInvoiceResult = { outcome: 'not-found' };
  let detailsError: unknown = null;
  try {
    details = await activities.lookUpInvoice({ invoiceId });
  } catch (error) {
    const failure = failureOf(error);
    const { reaction, scope } = reactionTo(failure);
    // Only this endpoint does not work, so the other one may.
    const isEndpointBroken = scope !== 'service' && reaction !== 'retry';
    if (!isEndpointBroken && failure.code !== 'server-fault') throw error;
    detailsError = error;
  }
  if (details.outcome === 'found') {
    const { status, unknownStatus = null, header } = details;
    await activities.recordDetails({ invoiceId, status, unknownStatus, header });
    // An unknown status may mean voided, so an existing file is no proof of approval.
    if (status !== null || unknownStatus !== null) return { isKnown: true, status, location: null };
  }
  const answer = await activities.regenerateUrl({ invoiceId });
  if (answer.outcome !== 'location') {
    if (detailsError !== null) throw detailsError;
    const isKnown = details.outcome === 'found' || answer.outcome !== 'not-exported';
    return { isKnown, status: null, location: null };
  }
  // Only finalized invoices have a file.
  await activities.recordDetails({ invoiceId, status: 'finalized', header: {} });
  return { isKnown: true, status: 'finalized', location: answer.location };
}

/** Draft: asks the service when the finalized event is overdue or on request. */
async function waitForFinalized(run: InvoiceRun): Promise<void> {
  const { isLookUp, isRetry } = run.requests;
  if ((isLookUp || isRetry) && (await lookUp(run)) === null) return run.backOff();
  if (lifecycle.nextStep(run.knowledge) !== 'wait') return;
  await run.reply({ state: 'draft', reason: null });
  // The first pause counts from the run's scheduled start, which may have been delayed by that pause (ADR 1).
  const { overdueChecks } = run;
  const passed = overdueChecks === 0 ? Date.now() - workflowInfo().startTime.getTime() : 0;
  const pause = Math.max(1, nthPause(run.pace.overdueAfter, overdueChecks) - passed);
  if (await condition(() => run.hasNews, pause)) return;
  run.overdueChecks += 1;
  run.requests = { ...run.requests, isLookUp: true };
}

// The file

/** One series of attempts to fetch and load the file, followed by a pause or attention if it failed. */
async function fetchAndLoad(run: InvoiceRun): Promise<void> {
  const { invoiceId } = run.input;
  const { announcement } = run.knowledge;
  run.takeRequests();
  const location = announcement?.location ?? null;
  const isRejected = location !== null && location.fileHashSha256 === run.rejectedSha256;
  const { freshUrl: regenerated, failedSeries } = run;
  run.freshUrl = null;
  const file = await fetchFile(run.activities, {
    ...{ invoiceId, announced: isRejected ? null : location, regenerated, failedSeries },
    eventId: announcement?.eventId ?? null,
  });
  if (file.outcome === 'fetched') return loadFile(run, file, announcement);
  const { code, message } = file;
  run.fail({ code, message });
  const { attentionAfter, attentionAfterMissing } = run.pace;
  const limit = code === 'not-exported' ? attentionAfterMissing : attentionAfter;
  if (file.outcome === 'operator' || run.pausedMs >= inMilliseconds(limit)) {
    const series = run.failedSeries + 1;
    const attempts = series === 1 ? '' : ` ${series} series of attempts were made.`;
    return requireAttention(run, { code, reason: `${message}${attempts} ${RETRY_HINT}` });
  }
  await run.recordFailure({ code, reason: `${message} ${RETRIED}` });
  await run.backOffAfterSeries();
}

async function loadFile(
  run: InvoiceRun,
  file: FetchedFile,
  announcement: Announcement | null,
): Promise<void> {
  const { sha256, tag, mismatch } = file;
  let loaded: LoadInvoiceResult;
  try {
    loaded = file.loaded ?? (await callLoad(run, file, announcement));
  } catch (error) {
    const failure = failureOf(error);
    run.fail(failure);
    const reason = `Loading failed in every attempt: ${failure.message} ${RETRY_HINT}`;
    return requireAttention(run, { code: 'load-failed', reason });
  }
  switch (loaded.outcome) {
    case 'loaded':
    case 'already_loaded': {
      const announcedSha256 = announcement?.location.fileHashSha256 ?? null;
      run.knowledge = lifecycle.completeLoad(run.knowledge, { sha256, announcedSha256 });
      run.resetSeries();
      run.lastFailure = null;
      // A new load clears the recorded failure itself.
      if (loaded.outcome === 'already_loaded') await run.recordFailure(null);
      run.recordedFailure = null;
      return;
    }
    case 'voided':
      // The next step reads from the ledger why.
      run.knowledge = lifecycle.applyVoidOfLoad(run.knowledge);
      return;
    case 'rejected':
    case 'contradicted': {
      if (run.rejectedSha256 !== sha256) run.repairChecks = 0;
      run.rejectedSha256 = sha256;
      run.rejectedTag = tag;
      const code = loaded.outcome === 'rejected' ? 'csv-rejected' : 'header-contradicted';
      const attention =
        mismatch === null
          ? { code, reason: loaded.reason }
          : { code: 'hash-mismatch', reason: `${mismatch} ${loaded.reason}` };
      await requireAttention(run, attention);
    }
  }
}

function callLoad(
  run: InvoiceRun,
  { sha256, source, announcedSha256, encodedSha256 }: FetchedFile,
  announcement: Announcement | null,
): Promise<LoadInvoiceResult> {
  run.updateSearchAttributes();
  return run.activities.loadInvoice({
    ...{ invoiceId: run.input.invoiceId, sha256, source, announcedSha256 },
    ...(encodedSha256 === null ? {} : { encodedSha256 }),
    eventId: announcement?.eventId ?? null,
    workflowRunId: workflowInfo().runId,
  });
}

// Attention and the end

/** Returns after a retry, a new event or a repaired file. */
async function waitForPerson(run: InvoiceRun): Promise<void> {
  if (run.knowledge.rank === 'voided' && run.hasNews) {
    if (await isVoidResolved(run)) return;
  } else if (run.requests.isRetry) {
    run.takeRequests();
    return retry(run);
  }
  if (run.requests.isRecheck && (await lookUp(run)) === null) return run.backOff();
  run.takeRequests();
  const { attention } = run.knowledge;
  await run.reply({ state: 'needs_attention', reason: attention?.reason ?? null });
  if (attention?.code === 'csv-rejected') await waitForRepair(run);
  else await condition(() => run.hasNews);
}

/** The service may repair a rejected file: it is asked at growing intervals, without a limit. */
async function waitForRepair(run: InvoiceRun): Promise<void> {
  const pause = nthPause(run.pace.repairAfter, run.repairChecks);
  if (await condition(() => run.hasNews, pause)) return;
  run.repairChecks += 1;
  const { rejectedSha256: sha256, rejectedTag: tag, input } = run;
  const { invoiceId } = input;
  const repaired = await findRepairedFile(run.activities, { invoiceId, sha256, tag });
  if (repaired === null || run.hasNews) return;
  run.freshUrl = repaired.location;
  await retry(run);
}

async function retry(run: InvoiceRun): Promise<void> {
  run.resetSeries();
  run.knowledge = lifecycle.clearAttention(run.knowledge);
  await clearAttention(run);
}

/** After three series without an answer the failure is recorded, and the next reconciliation asks again. */
const MAX_RECHECK_SERIES = 3;

/** Performs a requested recheck, then ends the run unless something new was received. */
async function isSettled(run: InvoiceRun): Promise<boolean> {
  const isVoided = run.knowledge.rank === 'voided';
  if (run.requests.isRecheck && !isVoided) {
    const { isFileInDoubt } = run.requests;
    const answer = await lookUp(run);
    run.freshUrl = null;
    if (answer === null) await recheckFailed(run);
    else if (isFileInDoubt) run.knowledge = lifecycle.requireReload(run.knowledge);
    return false;
  }
  // A person's restore reaches the run only through the ledger.
  if (run.hasNews && isVoided) {
    run.takeRequests();
    if (await applyRestore(run)) return false;
  }
  run.takeRequests();
  return end(run, lifecycle.stateOf(run.knowledge));
}

async function recheckFailed(run: InvoiceRun): Promise<void> {
  if (run.failedSeries < MAX_RECHECK_SERIES) return run.backOff();
  const message = run.lastFailure?.message ?? 'It does not answer.';
  const reason = `The service was asked three times whether it is voided, and did not answer: ${message}`;
  await run.recordFailure({ code: 'recheck-unanswered', reason }, true);
  run.takeRequests();
}

/** @returns false when something was received meanwhile that this run has to process */
async function end(run: InvoiceRun, state: InvoiceResult['state']): Promise<boolean> {
  run.updateSearchAttributes();
  await run.reply({ state, reason: null });
  await condition(allHandlersFinished);
  return !run.hasNews;
}
