/** Where a load into a lake becomes final: rows first, where nobody counts them, then the ledger. */

import type { LoadPlaces } from '../load-file.js';
import type { Ledger, LedgerTransaction } from './ledger.js';

/** For one load. Holds the invoice, and tells by a lock of the load itself that it is in flight. */
export function lakePlaces(
  ledger: Ledger,
  { invoiceId, loadId }: { readonly invoiceId: string; readonly loadId: number },
): LoadPlaces {
  let held: LedgerTransaction | null = null;
  return {
    ledger: (_session, work) =>
      ledger.onInvoices([invoiceId], async (transaction) => {
        await transaction.lock('load', loadId);
        held = transaction;
        return work(transaction);
      }),
    rows: (session, work) =>
      session.transaction(async () => {
        const result = await work();
        // The lake's commits follow each other; whoever meets another one would wait longer and try again.
        await held?.lock('commit', ledger.generation);
        return result;
      }),
  };
}
