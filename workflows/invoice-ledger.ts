/** Ledger updates of an invoice run: each is retried until it succeeds, before the run's knowledge changes. */

import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import { type InvoiceEvent, rankOfEvent } from '../lib/wire/names.ts';
import type { InvoiceLedger } from './activities.ts';
import type { InvoiceRun } from './invoice-run.ts';
import type { Attention } from './lifecycle.ts';
import * as lifecycle from './lifecycle.ts';

/** Stores every queued event in the ledger before it changes the run's knowledge. */
export async function recordEvents(run: InvoiceRun): Promise<void> {
  const { events } = run;
  for (let event = events[0]; event !== undefined; event = events[0]) {
    if (!run.knowledge.seen.includes(event.eventId)) await recordEvent(run, event);
    events.shift();
  }
}

async function recordEvent(run: InvoiceRun, event: InvoiceEvent): Promise<void> {
  const { attention, seen } = run.knowledge;
  const isFirst = seen.length === 0;
  const isVoid = rankOfEvent(event.eventType) === 'voided';
  let isRestored = false;
  // The ledger is read once per run for the work of earlier runs, and for each void, which a person may have undone.
  // Other events are in the archive already. The first is recorded in the workflow's own task; twice is harmless.
  if (isFirst || isVoid) {
    const { recordFirstEvent, recordEvent: record } = run.activities;
    const ledger = await run.retryUntilDone('recording an event', () =>
      (isFirst ? recordFirstEvent : record)({ event }),
    );
    // A finalized event that only the ledger has is about to arrive here, with its URL.
    const isOnItsWay = !isVoid && ledger.state === 'finalized';
    applyLedger(run, isOnItsWay ? { ...ledger, state: null } : ledger);
    isRestored = isVoid && ledger.isRestored;
  }
  run.knowledge = isRestored
    ? lifecycle.skipEvent(run.knowledge, event)
    : lifecycle.applyEvent(run.knowledge, event);
  if (event.export !== null) run.resetSeries();
  if (attention !== null && run.knowledge.attention === null) await clearAttention(run);
}

/** For a run that no event started. */
export async function startFromLedger(run: InvoiceRun): Promise<void> {
  const ledger = await readLedger(run);
  applyLedger(run, ledger);
  run.hadAttention = ledger.state === 'needs_attention' && ledger.voidBasis === null;
}

function applyLedger(run: InvoiceRun, ledger: InvoiceLedger): void {
  run.knowledge = lifecycle.applyLedger(run.knowledge, rankedLedger(ledger));
  run.recordedFailure = ledger.failureCode;
}

/** @returns whether a person has undone the void */
export async function applyRestore(run: InvoiceRun): Promise<boolean> {
  const ledger = await readLedger(run);
  if (!ledger.isRestored) return false;
  run.knowledge = lifecycle.applyRestore(run.knowledge, rankedLedger(ledger));
  run.denials = 0;
  return true;
}

function readLedger(run: InvoiceRun): Promise<InvoiceLedger> {
  const { invoiceId } = run.input;
  return run.retryUntilDone('reading the ledger', () => run.activities.readLedger({ invoiceId }));
}

function rankedLedger({ state, loadedSha256, voidBasis }: InvoiceLedger): lifecycle.Ledger {
  const rank = state === null ? 'nothing' : lifecycle.rankOfState(state);
  // The state of a denied void is `needs_attention`, which hides its rank.
  return { rank: voidBasis === null ? rank : 'voided', loadedSha256, voidBasis };
}

/**
 * Runs `work` and records events meanwhile. A void cancels `work` and waits until it has stopped: a download that is
 * still running would load rows after the void.
 */
export async function unlessVoided(run: InvoiceRun, work: () => Promise<void>): Promise<void> {
  const scope = new CancellationScope();
  let isOver = false;
  const running = scope.run(work).finally(() => {
    isOver = true;
  });
  running.catch(() => {}); // Awaited below; an earlier failure must not count as unhandled.
  while (!isOver) {
    await condition(() => isOver || run.events.length > 0);
    await recordEvents(run);
    if (!isOver && run.knowledge.rank === 'voided') scope.cancel();
  }
  try {
    await running;
  } catch (error) {
    if (!(isCancellation(error) && run.knowledge.rank === 'voided')) throw error;
  }
}

export async function applyVoid(run: InvoiceRun): Promise<void> {
  const { invoiceId } = run.input;
  await run.retryUntilDone('voiding', () => run.activities.voidInvoice({ invoiceId }));
  run.knowledge = lifecycle.completeVoid(run.knowledge);
}

export async function requireAttention(run: InvoiceRun, attention: Attention): Promise<void> {
  // A newer event may have solved the problem.
  if (run.events.length > 0) return;
  const seenBefore = run.knowledge.seen.length;
  const request = { invoiceId: run.input.invoiceId, ...attention };
  await run.retryUntilDone('recording why it needs attention', () =>
    run.activities.markNeedsAttention(request),
  );
  if (run.knowledge.seen.length > seenBefore) return clearAttention(run);
  run.knowledge = lifecycle.requireAttention(run.knowledge, attention);
}

export async function clearAttention(run: InvoiceRun): Promise<void> {
  const { invoiceId } = run.input;
  await run.retryUntilDone('clearing its attention', () => run.activities.clearNeedsAttention({ invoiceId }));
}
