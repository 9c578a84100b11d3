/** A line of which only what matters is stated. */

import type { ClaimedLine } from '../../../finance/disputes/claim.ts';

export function aLine(stated: Partial<ClaimedLine> = {}): ClaimedLine {
  return {
    ...{ finding: 'duplicates', partnerId: 'partner-1', invoiceLevel: 'tenant' },
    ...{ invoiceId: '00000000-0000-4000-8000-000000000001', invoiceNumber: 'INV-1', rowNumber: 1 },
    ...{ tenant: 'Acme', carrier: 'ups', trackingNumber: '1Z1', currencyCode: 'USD' },
    ...{ shipDate: '2026-03-02', carrierInvoiceDate: '2026-03-06', invoiceDate: '2026-03-10' },
    ...{ billed: '12.5000', expected: '0.0000', claimed: '12.5000', creditedBefore: '0.0000' },
    reason: 'Charged more than once',
    ...stated,
  };
}
