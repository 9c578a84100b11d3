/** A void: applied at once, and confirmed by the service where only an event reported it (ADR 19). */

import { condition } from '@temporalio/workflow';
import { askAboutVoid } from '../ask-about-void.ts';
import * as lifecycle from '../lifecycle.ts';
import { inMilliseconds, nthBackoff } from '../pace.ts';
import { drain, learnOfRestore } from './ledger.ts';
import { park } from './park.ts';
import type { InvoiceRun } from './run.ts';

/** Has the warehouse leave the invoice out of every total, tried until it is. */
export async function applyVoid(run: InvoiceRun): Promise<void> {
  const { invoiceId } = run.input;
  await run.surely('voiding', () => run.activities.voidInvoice({ invoiceId }));
  run.knowledge = lifecycle.settleVoid(run.knowledge);
}

/**
 * The invoice is out of every total already. The service is asked at once, and while it denies the void again after
 * each of the pauses; then a person has to decide. A service that cannot be asked leaves the void as it stands.
 */
export async function confirmVoid(run: InvoiceRun): Promise<void> {
  const { pace } = run;
  if (!pace.confirmVoids) {
    run.knowledge = lifecycle.settleVoidBasis(run.knowledge, 'unanswered');
    return;
  }
  run.doing = 'asking the service about the void';
  run.mailbox.takeRequests();
  const answer = await askAboutVoid(run.activities, run.input.invoiceId);
  switch (answer.outcome) {
    case 'confirmed':
      return settleVoid(run, 'details');
    case 'unaskable':
      return leaveVoid(run, answer.message);
    case 'later': {
      run.fail({ code: 'unreachable', message: answer.message });
      if (run.pausedMs >= inMilliseconds(pace.attentionAfter)) return leaveVoid(run, answer.message);
      const milliseconds = nthBackoff(pace, run.failedSeries);
      run.failedSeries += 1;
      run.pausedMs += milliseconds;
      return run.pause(milliseconds);
    }
    case 'denied': {
      const wait = pace.confirmVoidAfter[run.denials];
      run.denials += 1;
      if (wait !== undefined) return pauseBeforeAsking(run, inMilliseconds(wait));
      const reason = `An event voided it, and the service says that it is ${answer.status}. No total has it until that is settled. \`billsync invoices restore\` brings it back; once the service says voided too, \`billsync invoices retry\` ends this.`;
      run.denials = 0;
      await park(run, { code: lifecycle.VOID_CONTRADICTED, reason });
      // Not parked: something was heard in that moment, and it is asked once more.
      if (run.knowledge.attention !== null) {
        run.knowledge = lifecycle.settleVoidBasis(run.knowledge, 'contradicted');
      }
    }
  }
}

async function settleVoid(run: InvoiceRun, word: 'details' | 'unanswered'): Promise<void> {
  run.startSeriesAfresh();
  run.denials = 0;
  run.knowledge = lifecycle.settleVoidBasis(run.knowledge, word);
}

async function leaveVoid(run: InvoiceRun, message: string): Promise<void> {
  const reason = `An event voided it, and the service could not confirm that: ${message}`;
  await run.note({ code: 'void-unconfirmed', reason });
  return settleVoid(run, 'unanswered');
}

/** What is heard meanwhile is taken in; only somebody who wants to know has the service asked before its time. */
async function pauseBeforeAsking(run: InvoiceRun, milliseconds: number): Promise<void> {
  const until = Date.now() + milliseconds;
  const { mailbox } = run;
  while (Date.now() < until && !mailbox.isLookUpWanted && !mailbox.isRetryWanted) {
    if (mailbox.events.length > 0) await drain(run);
    else await condition(() => mailbox.hasNews, until - Date.now());
  }
  if (mailbox.hasNews) await learnOfRestore(run);
}

/** A denied void: a person undid it, or the service says now what its event said. */
export async function isVoidSettled(run: InvoiceRun): Promise<boolean> {
  run.mailbox.takeRequests();
  if (await learnOfRestore(run)) return true;
  const { outcome } = await askAboutVoid(run.activities, run.input.invoiceId);
  if (outcome !== 'confirmed') return false;
  await settleVoid(run, 'details');
  await applyVoid(run);
  return true;
}
