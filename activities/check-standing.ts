/** What a backfill makes of an invoice: the ledger's word against the service's, as a pure function. */

import type { InvoiceDetails } from '../billing/billing-service.ts';
import { compareDecimals } from '../lib/wire/decimal.ts';
import type { LedgerStatus } from '../warehouse/warehouse.ts';

/** The first three are results: nothing is to be done, and no workflow is started to say so. */
export type Finding =
  | 'loaded'
  | 'voided'
  | 'unknown'
  /** Something is to be done, or only the invoice's own workflow can find out what. */
  | 'work'
  /** The service states another total or count than any on record, so its file is fetched again. */
  | 'file-in-doubt';

/** null when the service has to be asked. A void is final; what is under way or parked is its workflow's affair. */
export function checkLedger(standing: LedgerStatus | null): Finding | null {
  switch (standing?.state) {
    case undefined:
    case 'loaded':
      return null;
    case 'voided':
      return 'voided';
    case 'draft':
    case 'finalized':
    case 'needs_attention':
      return 'work';
  }
}

/** @param details null: the service answers 404 */
export function checkDetails(standing: LedgerStatus | null, details: InvoiceDetails | null): Finding {
  if (standing === null) return details === null ? 'unknown' : 'work';
  // What was noted, and told to a person, only its workflow takes back.
  if (standing.isUnanswered) return 'work';
  // A loaded invoice stays loaded until an event or the details void it; a 404 does not.
  if (details === null) return 'loaded';
  if (details.unknownStatus !== null) return 'work';
  if (details.status !== null && details.status !== 'finalized') return 'work';
  return isAsStated(standing, details) ? 'loaded' : 'file-in-doubt';
}

/** A header that contradicts its rows is a recorded discrepancy: only what is new to the ledger is a doubt. */
function isAsStated(standing: LedgerStatus, { header }: InvoiceDetails): boolean {
  const { invoiceTotalAmount: total, totalTransactionCount: count } = header;
  const totals = [standing.statedTotal, standing.billingCost].filter((known) => known !== null);
  const counts = [standing.statedShipments, standing.shipments].filter((known) => known !== null);
  const isKnownTotal = total === undefined || totals.some((known) => compareDecimals(known, total) === 0);
  return isKnownTotal && (count === undefined || counts.includes(count));
}
