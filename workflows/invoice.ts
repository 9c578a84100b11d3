/**
 * One invoice's life, from the first event heard of it until it is loaded or voided.
 *
 * Signals only queue; one loop drains them, takes each event into the ledger first, asks the pure lifecycle what to
 * do, and does it. It never dies of business trouble: what cannot go on is parked with a reason and waits for a
 * retry or a new event. A void stops whatever runs, once a commit in progress has ended.
 */

import { workflowInfo } from '@temporalio/workflow';
import { ask, lookUpUnheard, waitForFinalized } from './invoice/ask.ts';
import { waitForPerson } from './invoice/attention.ts';
import { bringFile } from './invoice/bring-file.ts';
import { drain, recall, unlessVoided } from './invoice/ledger.ts';
import { resumeIfParked } from './invoice/park.ts';
import { InvoiceRun } from './invoice/run.ts';
import { isOver, isSaid } from './invoice/settled.ts';
import { applyVoid, confirmVoid } from './invoice/void.ts';
import * as lifecycle from './lifecycle.ts';
import type { InvoiceInput, InvoiceResult } from './messages.ts';

/** One run for each invoice id (ADR 1); ends when the invoice is loaded or voided and nothing waits. */
export async function invoice(input: InvoiceInput): Promise<InvoiceResult> {
  return live(new InvoiceRun(input));
}

async function live(run: InvoiceRun): Promise<InvoiceResult> {
  const { mailbox } = run;
  if (run.input.carried === undefined && mailbox.events.length === 0) await recall(run);
  for (;;) {
    await drain(run);
    if (workflowInfo().continueAsNewSuggested && !mailbox.hasNews) return run.continue();
    const step = lifecycle.nextStep(run.knowledge);
    // What is over in a moment is not worth telling.
    if (step !== 'load' || run.failedSeries > 0) run.show();
    switch (step) {
      case 'void':
        await applyVoid(run);
        break;
      case 'confirm':
        await confirmVoid(run);
        break;
      case 'load':
        // Its void may have been lost as well; a service that cannot say must not keep the file from us.
        if (mailbox.isRecheckWanted && (await ask(run)) !== false) break;
        await unlessVoided(run, () => bringFile(run));
        break;
      case 'wait':
        await waitForFinalized(run);
        break;
      case 'look-up': {
        const isKnown = await lookUpUnheard(run);
        if (!isKnown && !mailbox.hasNews && (await isSaid(run, 'unknown'))) return result(run, 'unknown');
        break;
      }
      case 'attention':
        await waitForPerson(run);
        break;
      case 'done':
        await resumeIfParked(run);
        if (await isOver(run)) return result(run, lifecycle.stateOf(run.knowledge));
    }
  }
}

function result(run: InvoiceRun, state: InvoiceResult['state']): InvoiceResult {
  return { state, sha256: run.knowledge.loadedSha256 };
}
