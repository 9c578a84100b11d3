/** Takes an event into archive and ledger before anything is done about it, and tells what is recorded by then. */

import type { ArchivedEvent } from '../archive/archive.js';
import type { InvoiceEvent } from '../contract/invoice-event.js';
import { withoutUrlQuery } from '../contract/parse-delivery.js';
import type { WarehouseDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { type InvoiceLedger, ledgerOf } from './ledger.js';

export interface RecordEventResult extends InvoiceLedger {
  /** Whether the ledger had the event. Not whether it was acted on: the ledger also takes in what the archive has. */
  readonly verdict: 'new' | 'duplicate';
}

export function recordEvent({ warehouse, archive, now }: WarehouseDependencies) {
  return ({ event }: { readonly event: InvoiceEvent }): Promise<RecordEventResult> =>
    translated(async () => {
      const archived = (await archive.event(event.eventId)) ?? (await keep(event));
      const { fresh } = await warehouse.recordEvents([archived]);
      const invoice = await warehouse.invoice(event.invoice.invoiceId);
      return { verdict: fresh.includes(event.eventId) ? 'new' : 'duplicate', ...ledgerOf(invoice) };
    });

  /** The forwarder archives first; an event that came another way (a tool, a test) is archived here. */
  async function keep(event: InvoiceEvent): Promise<ArchivedEvent> {
    const readable = withoutUrlQuery(event);
    const archived: ArchivedEvent = {
      eventId: event.eventId,
      receivedAt: now().toISOString(),
      verdict: 'accepted',
      reason: null,
      event: readable,
      envelope: JSON.stringify(readable),
    };
    await archive.putEvent(archived);
    return archived;
  }
}
