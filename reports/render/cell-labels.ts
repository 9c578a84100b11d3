/** Amounts with the decimals of their currency: 12.50 USD, 1,250 JPY; all four where one of a column has more. */

import type { ReportColumn, ReportResult, ReportRow } from '../report-result.ts';
import { cellLabel, grouped } from './labels.ts';

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
export function digitsOf(currency: string): number {
  const found = known.get(currency);
  if (found !== undefined) return found;
  const digits = /^[A-Z]{3}$/.test(currency)
    ? new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
    : undefined;
  known.set(currency, digits ?? 2);
  return digits ?? 2;
}

/** What a table on a page shows of a cell. */
export interface ShownCell {
  readonly text: string;
  /** The whole value, where `text` is rounded; else null. */
  readonly exact: string | null;
  readonly isNegative: boolean;
}

/** Amounts with the decimals of their currency, other decimals with two, percentages with their sign; exact digits apart. */
export function shownCell(row: ReportRow, column: ReportColumn): ShownCell {
  const cell = row[column.name] ?? null;
  const exact = cellLabel(cell, column);
  if (cell === null || column.type !== 'decimal')
    return { text: exact, exact: null, isNegative: isBelowZero(cell) };
  const isMoney = column.unit?.startsWith('money') ?? false;
  const digits = isMoney ? digitsOf(String(row.currency_code ?? '')) : Math.min(2, column.scale);
  const rounded = grouped(roundedTo(String(cell), digits));
  const text = column.unit === '%' ? `${rounded} %` : rounded;
  return {
    text,
    exact: isSame(String(cell), digits) ? null : exact,
    isNegative: isBelowZero(cell),
  };
}

function isBelowZero(cell: unknown): boolean {
  return (typeof cell === 'string' || typeof cell === 'number') && /^-\d*\.?\d*[1-9]/.test(String(cell));
}

function isSame(text: string, digits: number): boolean {
  return /^0*$/.test((text.split('.')[1] ?? '').slice(digits));
}

/** Decimal text with so many digits after the point, half away from zero. */
export function roundedTo(text: string, digits: number): string {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const kept = BigInt(`${whole}${fraction.slice(0, digits).padEnd(digits, '0')}`);
  const all = String(kept + (Number(fraction[digits] ?? '0') >= 5 ? 1n : 0n)).padStart(digits + 1, '0');
  const shown = digits === 0 ? all : `${all.slice(0, -digits)}.${all.slice(-digits)}`;
  return text.startsWith('-') && /[1-9]/.test(shown) ? `-${shown}` : shown;
}
