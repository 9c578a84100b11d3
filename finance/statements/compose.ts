/** Makes a tenant's statement of what is billed now and of what earlier statements said: nothing here is asked or kept. */

import type { ReportRow } from '../../reports/report-result.ts';
import { type Billed, type Composing, correctionsOf } from './corrections.ts';
import { cellOf, invoiceOf, isOf, leftOut, markUpOf, tenantOf, text } from './stated-rows.ts';
import { keyOf, type Statement, totalsOf } from './statement.ts';

/** A draft without shipments. */
export function composeStatement(billed: Billed, asked: Composing): Statement {
  const { tenant, period, by, markUp } = asked;
  const own = (rows: readonly ReportRow[]): readonly ReportRow[] => {
    const key = keyOf(tenant);
    return rows.filter((row) => keyOf(tenantOf(row)) === key);
  };
  const cells = own(billed.cells).map(cellOf);
  const invoices = own(billed.invoices);
  const notCounted = own(billed.notCounted);
  const corrections = correctionsOf(asked, { invoices, notCounted });
  const ofPeriod = invoices.filter((row) => row.period === period);
  const counted = new Set(ofPeriod.map((row) => row.invoice_id));
  return {
    ...tenant,
    ...{ period, by, sent_at: null, publication: billed.publication, published_at: billed.publishedAt },
    ...{ totals: totalsOf(cells, corrections), billed: cells, corrections },
    invoices: ofPeriod.map(invoiceOf),
    left_out: notCounted
      .filter((row) => isIn(row, period) && !counted.has(row.invoice_id ?? null))
      .map(leftOut),
    mark_up: markUp === null ? null : markUp.filter((row) => isOf(tenant, row)).map(markUpOf),
    ...{ shipments: null, cannot_say: CANNOT_SAY },
  };
}

function isIn({ first_month: first, last_month: last }: ReportRow, period: string): boolean {
  return text(first) !== '' && text(first) <= period && period <= text(last);
}

const CANNOT_SAY: readonly string[] = [
  'Surcharges, dimensional weight and destinations: they are not in an invoice file.',
  'Whether anything was paid.',
  'Why a line was credited or billed again. Lines are taken for billed again when the tracking number stood on an invoice of the same tenant that is void now and is dated on or before theirs.',
  'Invoices that had not come when this was made, and months before the first statement that was sent; what changes in a month that was sent is corrected by the next statement.',
];
