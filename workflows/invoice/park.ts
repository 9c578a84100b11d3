/** Leaves an invoice to a person, with a reason, and takes it back once it needs nobody any more. */

import type { Attention } from '../lifecycle.ts';
import * as lifecycle from '../lifecycle.ts';
import type { InvoiceRun } from './run.ts';

export async function park(run: InvoiceRun, attention: Attention): Promise<void> {
  // A newer event arrived meanwhile and may have cured it: try that first.
  if (run.mailbox.events.length > 0) return;
  const heardBefore = run.knowledge.seen.length;
  const request = { invoiceId: run.input.invoiceId, ...attention };
  await run.surely('recording why it needs attention', () => run.activities.parkInvoice(request));
  if (run.knowledge.seen.length > heardBefore) return resume(run);
  run.knowledge = lifecycle.park(run.knowledge, attention);
}

export async function resume(run: InvoiceRun): Promise<void> {
  const { invoiceId } = run.input;
  await run.surely('resuming', () => run.activities.resumeInvoice({ invoiceId }));
}

/** A delivery that was refused needs nobody any more once the service has told what the invoice is. */
export async function resumeIfParked(run: InvoiceRun): Promise<void> {
  if (!run.wasParked) return;
  run.wasParked = false;
  if (run.knowledge.rank === 'finalized') await resume(run);
}
