import type { ClaimedLine } from '../../../finance/disputes/claim.ts';

export function aLine(stated: Partial<ClaimedLine> = {}): ClaimedLine {
  return {
    ...{ finding: 'duplicates', partner_id: 'partner-1', invoice_level: 'tenant' },
    ...{ invoice_id: '00000000-0000-4000-8000-000000000001', invoice_number: 'INV-1', row_number: 1 },
    ...{ tenant: 'Acme', carrier: 'ups', tracking_number: '1Z1', currency_code: 'USD' },
    ...{ ship_date: '2026-03-02', carrier_invoice_date: '2026-03-06', invoice_date: '2026-03-10' },
    ...{ billed: '12.5000', expected: '0.0000', claimed: '12.5000', credited_before: '0.0000' },
    reason: 'Charged more than once',
    ...stated,
  };
}
