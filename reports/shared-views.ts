/** What several reports read and others do not: made for those whose SQL names it, since each costs a session a millisecond or two. */

import type { PublishedFile } from './published-file.ts';

/** In the order in which they are made: a later one may read those before it. */
const SHARED_BY_REPORTS = {
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

/** Kept as long as the filters are, so that several reports of a page read the shipments once. */
const KEPT = {
  'invoiced-months':
    'create temp table if not exists invoiced_months as from invoiced(month_start(report_date))',
  'monthly-prices':
    "create temp table if not exists monthly_prices as from prices(month_start(report_date), service_level, 'loaded_shipments')",
} as const;

/** The prices that price_moves follows; for who reads them nowhere else, to keep them would be dearer. */
const FOLLOWED_PRICES =
  "create or replace temp view followed_prices as from prices(month_start(report_date), service_level, 'tenant_shipments')";
/** A report that keeps them compares with all prices, so that all count as examined. */
const FOLLOWED_PRICES_KEPT =
  'create or replace temp view followed_prices as select * replace (shipments as examined) from monthly_prices';

type Shared = keyof typeof SHARED_BY_REPORTS;

/** Makes what a report reads, of the filters that the session has. */
export async function provideShared(file: PublishedFile, sql: string): Promise<void> {
  for (const [shared, isRead] of Object.entries(SHARED_BY_REPORTS) as [Shared, RegExp][]) {
    if (!isRead.test(sql)) continue;
    if (shared === 'followed-prices') {
      const areKept = SHARED_BY_REPORTS['monthly-prices'].test(sql);
      await file.provide(areKept ? FOLLOWED_PRICES_KEPT : FOLLOWED_PRICES);
    } else if (shared === 'invoiced-months' || shared === 'monthly-prices') await file.provide(KEPT[shared]);
    else await file.provide(shared);
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
