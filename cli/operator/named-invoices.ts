/** Invoices as an operator names them, by number or id. */

import type { Performed } from '../../dashboard/operator/operator-work.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { idsOf } from '../commands/invoices/invoice-ids.ts';
import { findInvoice } from '../commands/invoices.ts';
import { CliError, EXIT } from '../errors.ts';
import { openPublished } from '../published.ts';

/** Where the operators' pages lie. */
export const SECTION = '/operator';

/** As it was published last. @throws CliError there is none of that name */
export async function publishedInvoice(settings: Settings, wanted: string) {
  const published = await openPublished(settings);
  return findInvoice(published, wanted).finally(() => published.close());
}

/** @throws CliError none is named, or one that nobody knows */
export async function idsOfWords(settings: Settings, words: readonly string[]): Promise<readonly string[]> {
  if (words.length === 0) throw new CliError(EXIT.nothingMatched, 'no invoice is named');
  return idsOf(
    settings,
    words.map((word) => ({ word, place: null })),
  );
}

/** Where an action on an invoice goes on. */
export function pageOfInvoice(invoiceId: string): Performed['next'] {
  return { path: `/invoices/${invoiceId}`, label: 'Show the invoice' };
}
