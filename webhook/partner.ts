/** Whose invoices are ours: an event for another partner must never reach a total. */

import type { InvoiceEvent } from '../lib/wire/names.ts';

/** @param partnerIds ours; empty when they are not known yet, then nobody is called foreign; nor is a delivery that names no partner */
export function isForeign(event: InvoiceEvent, partnerIds: readonly string[]): boolean {
  if (partnerIds.length === 0 || event.partnerId === '') return false;
  const asked = event.partnerId.toLowerCase();
  return !partnerIds.some((partnerId) => partnerId.toLowerCase() === asked);
}
