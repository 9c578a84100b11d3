/** Takes what is heard into the ledger first, then into account, and reads there what earlier runs did. */

import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { InvoiceLedger } from '../../activities/ledger.ts';
import { type InvoiceEvent, rankOfEvent } from '../../lib/wire/names.ts';
import * as lifecycle from '../lifecycle.ts';
import { resume } from './park.ts';
import type { InvoiceRun } from './run.ts';

/** Takes every queued event into the ledger, then into account, in that order. */
export async function drain(run: InvoiceRun): Promise<void> {
  const { events } = run.mailbox;
  for (let event = events[0]; event !== undefined; event = events[0]) {
    if (!run.knowledge.seen.includes(event.eventId)) await take(run, event);
    events.shift();
  }
}

async function take(run: InvoiceRun, event: InvoiceEvent): Promise<void> {
  const wasParked = run.knowledge.attention !== null;
  const isVoid = rankOfEvent(event.eventType) === 'voided';
  // What earlier runs did has to be asked for once, and of a void whether a person has answered it.
  const isAsked = isVoid || run.knowledge.seen.length === 0;
  const ledger = isAsked ? await record(run, event) : null;
  // Finalized and not loaded: the event that says so is in the archive, and on its way here with its URL.
  const isOnItsWay = !isVoid && ledger?.state === 'finalized';
  if (ledger !== null) recallFrom(run, isOnItsWay ? { ...ledger, state: null } : ledger);
  // Whoever tells again of a void that a person undid says nothing new.
  const heard = isVoid && ledger?.isRestored ? lifecycle.ignore : lifecycle.hear;
  run.knowledge = heard(run.knowledge, event);
  if (event.export !== null) run.startSeriesAfresh();
  if (wasParked && run.knowledge.attention === null) await resume(run);
}

/** The first of a run costs no task of its own: to record it twice does no harm. */
function record(run: InvoiceRun, event: InvoiceEvent): Promise<InvoiceLedger> {
  const isFirst = run.knowledge.seen.length === 0;
  const { recordFirstEvent, recordEvent } = run.activities;
  return run.surely('recording an event', () => (isFirst ? recordFirstEvent : recordEvent)({ event }));
}

/** For a run that no event started. */
export async function recall(run: InvoiceRun): Promise<void> {
  const ledger = await readLedger(run);
  recallFrom(run, ledger);
  run.wasParked = ledger.state === 'needs_attention' && ledger.voidBasis === null;
}

function recallFrom(run: InvoiceRun, ledger: InvoiceLedger): void {
  run.knowledge = lifecycle.recall(run.knowledge, recorded(ledger));
  run.notedFailure = ledger.failureCode;
}

/** Somebody wants to know: it may be because a person has undone the void. @returns whether one has */
export async function learnOfRestore(run: InvoiceRun): Promise<boolean> {
  const ledger = await readLedger(run);
  if (!ledger.isRestored) return false;
  run.knowledge = lifecycle.restore(run.knowledge, recorded(ledger));
  run.denials = 0;
  return true;
}

function readLedger(run: InvoiceRun): Promise<InvoiceLedger> {
  const { invoiceId } = run.input;
  return run.surely('reading the ledger', () => run.activities.recallInvoice({ invoiceId }));
}

function recorded({ state, loadedSha256, voidBasis }: InvoiceLedger): lifecycle.Ledger {
  const rank = state === null ? 'nothing' : lifecycle.rankOfState(state);
  // The state of a void that the service denies hides its rank.
  return { rank: voidBasis === null ? rank : 'voided', loadedSha256, voidBasis };
}

/**
 * Runs `work` and meanwhile keeps taking in what is heard. A void cancels it and waits until it has really
 * stopped: a download would bring back what the void is about to take out.
 */
export async function unlessVoided(run: InvoiceRun, work: () => Promise<void>): Promise<void> {
  const scope = new CancellationScope();
  let isOver = false;
  const running = scope.run(work).finally(() => {
    isOver = true;
  });
  running.catch(() => {}); // Awaited below; until then its failure must not count as unhandled.
  while (!isOver) {
    await condition(() => isOver || run.mailbox.events.length > 0);
    await drain(run);
    if (!isOver && run.knowledge.rank === 'voided') scope.cancel();
  }
  try {
    await running;
  } catch (error) {
    if (!(isCancellation(error) && run.knowledge.rank === 'voided')) throw error;
  }
}
