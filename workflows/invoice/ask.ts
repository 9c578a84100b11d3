/** Asks the service what it knows of the invoice: because an event is overdue or was never heard, or somebody wants to know. */

import { condition, workflowInfo } from '@temporalio/workflow';
import { askService } from '../ask-service.ts';
import { failureOf } from '../failure.ts';
import * as lifecycle from '../lifecycle.ts';
import { inMilliseconds, nthBackoff } from '../pace.ts';
import { type InvoiceRun, TRIED_AGAIN } from './run.ts';

/** @returns false when the service could not be asked; the pause that follows grows with each time */
export async function ask(run: InvoiceRun): Promise<false | { readonly isKnown: boolean }> {
  run.doing = 'asking the service';
  const requests = run.mailbox.takeRequests();
  try {
    const answer = await askService(run.activities, run.input.invoiceId);
    run.failedSeries = 0;
    if (run.notedFailure !== null && isNotedOfAsking(run)) await run.note(null);
    run.freshUrl = answer.location;
    const status = answer.status ?? (answer.isKnown ? 'draft' : null);
    run.knowledge = lifecycle.learnStatus(run.knowledge, status);
    return { isKnown: answer.isKnown };
  } catch (error) {
    const failure = failureOf(error);
    run.fail(failure);
    run.failedSeries += 1;
    run.mailbox.requestAgain(requests);
    const isUnknown = run.knowledge.rank === 'nothing';
    if (!isUnknown && run.knowledge.loadedSha256 === null) {
      await run.note({ code: failure.code, reason: `${failure.message} ${TRIED_AGAIN}` });
    }
    return false;
  }
}

/** What is noted now is about asking, which an answer ends; a file that does not come is ended by a load. */
function isNotedOfAsking({ notedFailure, knowledge }: InvoiceRun): boolean {
  return notedFailure === 'recheck-unanswered' || knowledge.rank !== 'finalized';
}

/** Draft: asks when the finalized event is overdue, or when somebody wants to know. */
export async function waitForFinalized(run: InvoiceRun): Promise<void> {
  const { mailbox } = run;
  const isAsked = mailbox.isLookUpWanted || mailbox.isRetryWanted;
  if (isAsked && !(await ask(run))) return run.pause(nthBackoff(run.pace, run.failedSeries));
  if (lifecycle.nextStep(run.knowledge) !== 'wait') return;
  await mailbox.reply({ state: 'draft', reason: null });
  run.doing = 'waiting for the invoice to be finalized';
  if (await condition(() => mailbox.hasNews, untilOverdue(run))) return;
  run.asked += 1;
  mailbox.isLookUpWanted = true;
}

/** The first wait is counted from the start of the run, which may have begun late for that very wait (ADR 1). */
function untilOverdue({ pace: { overdueAfter }, asked }: InvoiceRun): number {
  const after = inMilliseconds(overdueAfter[Math.min(asked, overdueAfter.length - 1)] ?? '24 h');
  const passed = asked === 0 ? Date.now() - workflowInfo().startTime.getTime() : 0;
  return Math.max(1, after - passed);
}

/** No event was heard: only the service can say whether there is such an invoice. */
export async function lookUpUnheard(run: InvoiceRun): Promise<boolean> {
  const answer = await ask(run);
  if (answer === false) await run.pause(nthBackoff(run.pace, run.failedSeries));
  return answer === false || answer.isKnown;
}
