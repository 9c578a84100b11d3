/** The address to which a number of a report's page leads: its filters, and what its row is. */

import type { ReportDefinition } from '../reports/catalogue.ts';
import type { ReportRow } from '../reports/cells.ts';
import { type CellDrilldown, drilldownOfCell } from '../reports/drilldown.ts';
import type { Period } from '../reports/period.ts';
import type { ReportResult } from '../reports/report-result.ts';
import { filtersIn, type Query, withQuery } from './address.ts';

/** Where it leads, and whether what is found there sums to the number or the number is computed of it. */
export interface CellAddress {
  readonly address: string;
  readonly isTotal: boolean;
}

export type LeadTo = (rows: readonly ReportRow[], column: string) => CellAddress | null;

export interface Leading {
  readonly report: ReportDefinition;
  readonly result: ReportResult;
  /** As the report was asked for. */
  readonly query: Query;
  /** With which it is compared; null: with none. */
  readonly before: Period | null;
}

/** For the cells and charts of one answer. */
export function leadingTo({ report: { drilldowns }, result, query, before }: Leading): LeadTo {
  const filters = filtersIn(query);
  return (rows, column) => {
    // A difference belongs to two figures, so it has no link of its own.
    if (before !== null && (column === 'difference' || column === 'change_percent')) return null;
    const isBefore = before !== null && column.endsWith('_before');
    const lead = drilldownOfCell(
      { drilldowns, result },
      rows,
      isBefore ? column.replace(/_before$/, '') : column,
    );
    if (lead === null) return null;
    const days = isBefore ? { ...filters, ...before, period: undefined } : filters;
    return { address: addressOf(lead, days), isTotal: lead.total !== null };
  };
}

function addressOf({ target, fields }: CellDrilldown, filters: Query): string {
  switch (target) {
    case 'shipments':
      return withQuery('/shipments', filters, fields);
    case 'register':
      return withQuery('/reports/register', filters, fields);
    case 'invoices':
      return withQuery('/invoices', {}, fields);
    case 'invoice':
      return `/invoices/${encodeURIComponent(Object.values(fields)[0] ?? '')}`;
  }
}
