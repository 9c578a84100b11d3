/** What several reports read and others do not: made for those whose SQL names it, since each costs a session a millisecond or two. */

import type { PublishedFile } from './published-file.ts';

/** In the order in which they are made: a later one may read those before it. */
const SHARED_BY_REPORTS = {
  'undated-shipments': /\b(undated_shipments|accrual_estimates)\b/,
  'tenant-shipments': /\b(tenant_shipments|price_moves)\b/,
  prices: /\b(prices\(|cell_prices|monthly_prices|price_moves)/,
  'cell-prices': /\bcell_prices\b/,
  'filtered-invoices': /\b(selected_invoices|invoice_currencies|invoices_owed)\b/,
  'selected-invoices': /\b(selected_invoices|invoice_currencies|invoices_owed)\b/,
  'line-faults': /\b(line_faults|faulty_lines)\b/,
  'faulty-lines': /\bfaulty_lines\b/,
  'voided-shipments': /\bvoided_shipments\b/,
  'files-on': /\bfiles_on\b/,
  invoiced: /\b(invoiced\(|invoiced_months)/,
  'invoiced-months': /\binvoiced_months\b/,
  'billed-by': /\bbilled_by\b/,
  'repeated-lines': /\b(repeated_lines|repeats_by)\b/,
  'repeats-by': /\brepeats_by\b/,
  'invoice-currencies': /\b(invoice_currencies|invoices_owed)\b/,
  'invoice-totals': /\b(invoice_totals|invoices_owed)\b/,
  'invoices-owed': /\binvoices_owed\b/,
  'monthly-prices': /\bmonthly_prices\b/,
  'followed-prices': /\bprice_moves\b/,
  'price-moves': /\bprice_moves\b/,
  'rate-day': /\brated_cells\b/,
  'rated-cells': /\brated_cells\b/,
  'shipped-months': /\baccrual_estimates\b/,
  'accrual-estimates': /\baccrual_estimates\b/,
} as const;

type Shared = keyof typeof SHARED_BY_REPORTS;

/** Makes what a report reads, of the filters that the session has. */
export async function provideShared(file: PublishedFile, sql: string): Promise<void> {
  for (const [shared, isRead] of Object.entries(SHARED_BY_REPORTS) as [Shared, RegExp][]) {
    if (!isRead.test(sql)) continue;
    const areKept = shared === 'followed-prices' && SHARED_BY_REPORTS['monthly-prices'].test(sql);
    await file.run(areKept ? 'followed-prices-kept' : shared);
  }
}

/** Whether a report lists invoices rather than shipments. */
export function readsInvoices(sql: string): boolean {
  return SHARED_BY_REPORTS['selected-invoices'].test(sql);
}

/** Whether a report shows states of invoices, which are published as they are now only. */
export function readsStates(sql: string): boolean {
  return readsInvoices(sql) || /\bknown_invoices\b/.test(sql);
}
