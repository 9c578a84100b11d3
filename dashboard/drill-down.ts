import type { ReportDefinition } from '../reports/catalogue.ts';
import { type CellDrilldown, drilldownOfCell } from '../reports/drilldown.ts';
import type { Period } from '../reports/period.ts';
import type { LeadTo } from '../reports/render/html-page.ts';
import type { ReportResult } from '../reports/report-result.ts';
import { filtersIn, type Query, withQuery } from './address.ts';

/** @param page.before the period with which the page compares; null when it does not compare */
export function leadingTo({
  report: { drilldowns },
  result,
  query,
  before,
}: {
  readonly report: ReportDefinition;
  readonly result: ReportResult;
  readonly query: Query;
  readonly before: Period | null;
}): LeadTo {
  const filters = filtersIn(query);
  return (rows, column) => {
    if (column === 'invoice_number') {
      const [row] = rows;
      return { address: addressOfInvoice(String(row?.invoice_id ?? row?.invoice_number)), isTotal: true };
    }
    // A difference belongs to two numbers, so it has no link of its own.
    if (before !== null && (column === 'difference' || column === 'change_percent')) return null;
    const isBefore = before !== null && column.endsWith('_before');
    const name = isBefore ? column.replace(/_before$/, '') : column;
    const drilldown = drilldownOfCell({ drilldowns, result }, rows, name);
    if (drilldown === null) return null;
    // A row that has days of its own replaces the days of the page's filter, which may leave out some of its lines.
    const isDated = Object.hasOwn(drilldown.fields, 'days_from');
    const own = isDated ? { from: undefined, to: undefined } : isBefore ? before : null;
    const days = own === null ? filters : { ...filters, ...own, period: undefined };
    return { address: addressOf(drilldown, days), isTotal: drilldown.total !== null };
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
      return addressOfInvoice(Object.values(fields)[0] ?? '');
  }
}

function addressOfInvoice(idOrNumber: string): string {
  return `/invoices/${encodeURIComponent(idOrNumber)}`;
}
