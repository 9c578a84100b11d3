/** Confirms voids with the service: an event alone may be wrong (ADR 19). */

import { condition } from '@temporalio/workflow';
import { failureOf, reactionTo } from './failure.ts';
import { applyRestore, applyVoid, recordEvents, requireAttention } from './invoice-ledger.ts';
import type { InvoiceRun } from './invoice-run.ts';
import * as lifecycle from './lifecycle.ts';
import { inMilliseconds } from './pace.ts';

type VoidAnswer =
  | { readonly outcome: 'confirmed' }
  | { readonly outcome: 'denied'; readonly status: string }
  /** `unanswerable`: no retry can get an answer. */
  | { readonly outcome: 'unanswerable' | 'later'; readonly message: string };

/** Asks the details only: an existing file says nothing about a void. */
async function queryVoid({ activities, input: { invoiceId } }: InvoiceRun): Promise<VoidAnswer> {
  try {
    await activities.fetchToken();
    const details = await activities.lookUpInvoice({ invoiceId });
    if (details.outcome === 'not-found') {
      return {
        outcome: 'unanswerable',
        message: 'The service answers 404 when it is asked for its details.',
      };
    }
    const { status, unknownStatus = null, header } = details;
    await activities.recordDetails({ invoiceId, status, unknownStatus, header });
    if (status === 'voided') return { outcome: 'confirmed' };
    if (status !== null) return { outcome: 'denied', status };
    return { outcome: 'unanswerable', message: 'Its details contain no known status.' };
  } catch (error) {
    const failure = failureOf(error);
    const { reaction } = reactionTo(failure);
    return { outcome: reaction === 'retry' ? 'later' : 'unanswerable', message: failure.message };
  }
}

/**
 * Confirms a void that only an event reported (ADR 19); the invoice is out of every total already. A denial is checked
 * again after each pause, then a person decides. If the service cannot answer, the void stays.
 */
export async function confirmVoid(run: InvoiceRun): Promise<void> {
  const { pace } = run;
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
    case 'later':
      run.fail({ code: 'unreachable', message: answer.message });
      if (run.pausedMs >= inMilliseconds(pace.attentionAfter)) return leaveUnconfirmed(run, answer.message);
      return run.backOffAfterSeries();
    case 'denied': {
      const pause = pace.confirmVoidAfter[run.denials];
      run.denials += 1;
      if (pause !== undefined) return pauseBeforeConfirming(run, inMilliseconds(pause));
      const reason = `An event voided it, and the service says that it is ${answer.status}. No total includes it until this is settled. \`billsync invoices restore\` brings it back; once the service says voided too, \`billsync invoices retry\` ends this.`;
      run.denials = 0;
      await requireAttention(run, { code: lifecycle.VOID_CONTRADICTED, reason });
      // Without attention, a new event arrived meanwhile, and the service is asked once more.
      if (run.knowledge.attention !== null) {
        run.knowledge = lifecycle.setVoidBasis(run.knowledge, 'contradicted');
      }
    }
  }
}

function settleVoid(run: InvoiceRun, basis: 'details' | 'unanswered'): void {
  run.resetSeries();
  run.denials = 0;
  run.knowledge = lifecycle.setVoidBasis(run.knowledge, basis);
}

async function leaveUnconfirmed(run: InvoiceRun, message: string): Promise<void> {
  const reason = `An event voided it, and the service could not confirm that: ${message}`;
  await run.recordFailure({ code: 'void-unconfirmed', reason });
  settleVoid(run, 'unanswered');
}

/** Records events meanwhile; only a request ends the pause early. */
async function pauseBeforeConfirming(run: InvoiceRun, milliseconds: number): Promise<void> {
  const until = Date.now() + milliseconds;
  while (Date.now() < until && !run.requests.isLookUp && !run.requests.isRetry) {
    if (run.events.length > 0) await recordEvents(run);
    else await condition(() => run.hasNews, until - Date.now());
  }
  if (run.hasNews) await applyRestore(run);
}

/** After a denied void: whether a person undid it or the service confirms it now. */
export async function isVoidResolved(run: InvoiceRun): Promise<boolean> {
  run.takeRequests();
  if (await applyRestore(run)) return true;
  const { outcome } = await queryVoid(run);
  if (outcome !== 'confirmed') return false;
  settleVoid(run, 'details');
  await applyVoid(run);
  return true;
}
