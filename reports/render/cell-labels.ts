/** Amounts with the decimals of their currency: 12.50 USD, 1,250 JPY; all four where one of a column has more. */

import type { ReportColumn, ReportResult, ReportRow } from '../report-result.ts';
import { cellLabel } from './labels.ts';

/** How a table of a screen writes its cells; no digit but trailing zeros is left out, and a column keeps to one number of them. */
export function cellLabels({
  columns,
  rows,
}: Pick<ReportResult, 'columns' | 'rows'>): (row: ReportRow, column: ReportColumn) => string {
  const digits = new Map<string, number>();
  for (const column of columns.filter(({ unit, type }) => unit === 'money' && type === 'decimal')) {
    for (const row of rows) {
      const currency = String(row.currency_code ?? '');
      const place = `${column.name} ${currency}`;
      const most = Math.max(digits.get(place) ?? digitsOf(currency), needed(row[column.name]));
      digits.set(place, most > digitsOf(currency) ? column.scale : most);
    }
  }
  return (row, column) => {
    const label = cellLabel(row[column.name] ?? null, column);
    const kept = digits.get(`${column.name} ${row.currency_code ?? ''}`);
    if (kept === undefined || !label.includes('.')) return label;
    const [whole = '', fraction = ''] = label.split('.');
    return kept === 0 ? whole : `${whole}.${fraction.slice(0, kept)}`;
  };
}

function needed(cell: unknown): number {
  return cell === null || cell === undefined
    ? 0
    : (String(cell).split('.')[1] ?? '').replace(/0+$/, '').length;
}

const known = new Map<string, number>();

/** Of ISO 4217, as far as it is known here; else 2. */
function digitsOf(currency: string): number {
  const found = known.get(currency);
  if (found !== undefined) return found;
  const digits = /^[A-Z]{3}$/.test(currency)
    ? new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
    : undefined;
  known.set(currency, digits ?? 2);
  return digits ?? 2;
}
