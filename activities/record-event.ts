/** Takes an event into archive and ledger before anything is done about it, and tells what is recorded by then. */

import type { InvoiceEvent } from '../lib/wire/names.ts';
import { withoutUrlQuery } from '../lib/wire/parse-delivery.ts';
import type { WarehouseDependencies } from './dependencies.ts';
import { translated } from './failures.ts';
import { type InvoiceLedger, ledgerOf } from './ledger.ts';

export function recordEvent({ warehouse, archive, now }: WarehouseDependencies) {
  return ({ event }: { readonly event: InvoiceEvent }): Promise<InvoiceLedger> =>
    translated(async () => {
      if ((await archive.event(event.eventId)) === null) await keep(event);
      await warehouse.ingestArchive({ deferFacts: true });
      return ledgerOf(await warehouse.invoice(event.invoice.invoiceId));
    });

  /** The forwarder archives first; an event that came another way (a tool, a test) is archived here. */
  async function keep(event: InvoiceEvent): Promise<void> {
    const readable = withoutUrlQuery(event);
    await archive.putEvent({
      eventId: event.eventId,
      receivedAt: now().toISOString(),
      verdict: 'accepted',
      reason: null,
      event: readable,
      envelope: JSON.stringify(readable),
    });
  }
}
