/** Which invoices a partner-level invoice sums (spec 2.9). */

import type { Invoice } from '../model.ts';
import { RefusalError } from '../refusal.ts';
import type { InvoiceBook } from './invoice-book.ts';
import type { NewInvoice } from './new-invoice.ts';

/** What a partner-level invoice of a 3PL sums: all shipments of all tenants in one currency (spec 2.9). */
export function sourcesOf(wanted: NewInvoice, book: InvoiceBook): readonly Invoice[] {
  if (wanted.partnerLevel !== true || book.partner.kind === 'enterprise') return [];
  if (wanted.shipments !== undefined) {
    throw new RefusalError(
      'invalid_request',
      'A partner-level invoice has the rows of the invoices it sums.',
    );
  }
  const sources = wanted.sources?.map((id) => book.invoice(id)) ?? unsummed(book, wanted.set?.currencyCode);
  const currencies = new Set(sources.map(({ currencyCode }) => currencyCode));
  if (currencies.size > 1) {
    throw new RefusalError('invalid_request', 'Invoices of several currencies cannot be summed.');
  }
  if (sources.length > 0 && sources.every(({ tenantId }) => tenantId !== null)) return sources;
  throw new RefusalError(
    'conflict',
    'There are no tenant-level invoices that a partner-level one could sum.',
  );
}

function unsummed(book: InvoiceBook, currencyCode = 'USD'): readonly Invoice[] {
  const live = book.invoices().filter(({ status }) => status !== 'CANCELED');
  const summed = new Set(live.flatMap(({ sources }) => sources));
  return live.filter(
    (one) => one.tenantId !== null && one.currencyCode === currencyCode && !summed.has(one.invoiceId),
  );
}
