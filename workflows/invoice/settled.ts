/** The end of a run: the invoice is loaded, voided or unknown, everybody who asked is told, and nothing waits any more. */

import { allHandlersFinished, condition } from '@temporalio/workflow';
import * as lifecycle from '../lifecycle.ts';
import type { InvoiceResult } from '../messages.ts';
import { nthBackoff } from '../pace.ts';
import { ask } from './ask.ts';
import { learnOfRestore } from './ledger.ts';
import type { InvoiceRun } from './run.ts';

/** So many series of attempts to ask about a loaded invoice fail before somebody is told. */
const UNANSWERED_AFTER = 3;

/** Settled: a recheck asks once more, since a lost void is found no other way. */
export async function isOver(run: InvoiceRun): Promise<boolean> {
  const { mailbox } = run;
  if (mailbox.isRecheckWanted && run.knowledge.rank !== 'voided') {
    const { isFileInDoubt } = mailbox;
    const answer = await ask(run);
    run.freshUrl = null;
    if (answer === false) await recheckFailed(run);
    else if (isFileInDoubt) run.knowledge = lifecycle.doubtFile(run.knowledge);
    return false;
  }
  // Of a void that a person undid only who starts a run or asks one knows.
  if (mailbox.hasNews && run.knowledge.rank === 'voided') {
    mailbox.takeRequests();
    if (await learnOfRestore(run)) return false;
  }
  mailbox.takeRequests();
  return isSaid(run, lifecycle.stateOf(run.knowledge));
}

/** Three series without an answer are told, and left to the next reconciliation: it asks again. */
async function recheckFailed(run: InvoiceRun): Promise<void> {
  if (run.failedSeries < UNANSWERED_AFTER) return run.pause(nthBackoff(run.pace, run.failedSeries));
  const { message } = run.lastFailure ?? { message: 'It does not answer.' };
  const reason = `The service was asked three times whether it is voided, and did not answer: ${message}`;
  await run.note({ code: 'recheck-unanswered', reason }, true);
  if (run.notedFailure === 'recheck-unanswered') run.mailbox.takeRequests();
  else await run.pause(nthBackoff(run.pace, run.failedSeries));
}

/** The last wait of a run. @returns false when something was heard meanwhile, which this run has to deal with */
export async function isSaid(run: InvoiceRun, state: InvoiceResult['state']): Promise<boolean> {
  run.show();
  await run.mailbox.reply({ state, reason: null });
  await condition(allHandlersFinished);
  return !run.mailbox.hasNews;
}
