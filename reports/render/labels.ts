/** Labels are for people; JSON, CSV and Parquet do not use them. */

import { beginningOf, visible, visibleCell } from '../../lib/text.ts';
import type { ReportCell, ReportColumn, ReportRow } from '../cells.ts';
import { periodText } from '../period.ts';
import type { ReportHead, ReportResult } from '../report-result.ts';

/** The label of `cost_per_lb` is "Cost per lb"; a unit that the name lacks follows in brackets, except money. */
export function columnLabel(column: ReportColumn): string {
  if (column.label !== undefined) return visible(column.label);
  const { unit } = column;
  const name = column.name.replaceAll('_', ' ');
  const label = name.charAt(0).toUpperCase() + name.slice(1);
  const isInName = unit === '%' ? name.includes('percent') : name.split(' ').includes(unit ?? '');
  return unit === null || unit.startsWith('money') || isInName ? label : `${label} (${unit})`;
}

/** Groups the digits of a number, and rounds nothing. */
export function cellLabel(cell: ReportCell, column: ReportColumn): string {
  if (cell === null) return '';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (column.type === 'decimal' || column.type === 'count') return grouped(String(cell));
  if (column.type === 'instant') return instantLabel(String(cell));
  return visibleCell(String(cell));
}

export function instantLabel(at: string): string {
  return at
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z')
    .replace('Z', ' UTC');
}

export function headLines(head: ReportHead): [string, string][] {
  const { filters } = head;
  const chosen: [string, readonly string[]][] = [
    ['tenant', filters.tenants],
    ['carrier', filters.carriers],
    ['zone', filters.zones],
    ['currency', filters.currencies],
  ];
  const narrowed = chosen
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name} ${values.map((value) => JSON.stringify(value)).join(' or ')}`);
  const parameters = Object.entries(head.parameters).filter(([, value]) => value !== null);
  return [
    ['Period', `${periodText(filters)}, by ${filters.by.replace('-', ' ')}`],
    ['Filters', narrowed.length > 0 ? narrowed.join('; ') : 'none'],
    ...(parameters.length > 0
      ? [['Parameters', parameters.map(([name, value]) => `${name} ${value}`).join(', ')] as [string, string]]
      : []),
    ['Level', head.level],
    ['As known on', filters.asKnownOn === null ? 'now' : instantLabel(filters.asKnownOn)],
    ['As of', `${instantLabel(head.asOf)}, publication ${head.publication}`],
    ['Time zone', head.timeZone],
    ['Rows', grouped(String(head.rows))],
    ['Shipments', grouped(String(head.shipments))],
    ['Weighed', weighedLabel(head)],
    ['Proved', head.provedPercent === null ? 'nothing to prove' : `${head.provedPercent} % of shipments`],
  ];
}

export function weighedLabel({ weighed }: ReportHead): string {
  const amounts = [
    `${grouped(String(weighed.inPounds))} in lb`,
    `${grouped(String(weighed.inKilograms))} in kg (1 kg = 2.2046226218 lb)`,
  ];
  if (weighed.without > 0) amounts.push(`${grouped(String(weighed.without))} without weight`);
  return amounts.join(', ');
}

export function grouped(digits: string): string {
  const [whole = '', ...fraction] = digits.split('.');
  return [whole.replace(/\B(?=(\d{3})+(?!\d))/g, ','), ...fraction].join('.');
}

const digitsByCurrency = new Map<string, number>();

/** The number of decimals of a currency by ISO 4217; 2 for an unknown one. */
export function digitsOf(currency: string): number {
  const found = digitsByCurrency.get(currency);
  if (found !== undefined) return found;
  const digits = /^[A-Z]{3}$/.test(currency)
    ? new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits
    : undefined;
  digitsByCurrency.set(currency, digits ?? 2);
  return digits ?? 2;
}

/** Returns a name like `carriers_2026-10-01_2026-10-31.csv`. @param extension without a dot */
export function fileNameOf(result: Pick<ReportResult, 'name' | 'head'>, extension: string): string {
  return `${[result.name, ...periodOf(result)].join('_')}.${extension}`;
}

const MAX_SHEET_NAME_LENGTH = 31;

/** Excel allows 31 characters, so a longer name is used without its days. */
export function sheetNameOf(result: Pick<ReportResult, 'name' | 'head'>): string {
  const whole = [result.name, ...periodOf(result)].join(' ');
  return whole.length > MAX_SHEET_NAME_LENGTH ? result.name.slice(0, MAX_SHEET_NAME_LENGTH) : whole;
}

function periodOf({ head }: Pick<ReportResult, 'head'>): readonly string[] {
  const { from, to } = head.filters;
  if (from !== null && to !== null) return [from, to];
  if (from !== null) return [`from-${from}`];
  return to === null ? [] : [`until-${to}`];
}

export function plural(count: number, noun: string): string {
  return `${grouped(String(count))} ${noun}${count === 1 ? '' : 's'}`;
}

const MAX_TEXT = 200;

/** A long text is cut. Amounts have the decimals of their currency, other decimals two. */
export function displayCell(row: ReportRow, column: ReportColumn) {
  const cell = row[column.name] ?? null;
  if (column.type === 'text' && typeof cell === 'string' && cell.length > MAX_TEXT)
    return { text: `${visible(beginningOf(cell, MAX_TEXT))}…`, exact: cell, isNegative: false };
  const exact = cellLabel(cell, column);
  if (cell === null || column.type !== 'decimal')
    return { text: exact, exact: null, isNegative: isBelowZero(cell) };
  const currency = currencyOf(row, column);
  const digits = currency === null ? Math.min(2, column.scale) : digitsOf(currency);
  const rounded = grouped(roundedTo(String(cell), digits));
  const isRounded = /[1-9]/.test((String(cell).split('.')[1] ?? '').slice(digits));
  return {
    text: column.unit === '%' ? `${rounded} %` : rounded,
    exact: isRounded ? exact : null,
    isNegative: isBelowZero(cell),
  };
}

/** The currency of a reporting amount is its unit. */
function currencyOf(row: ReportRow, { unit }: ReportColumn): string | null {
  if (unit?.startsWith('money')) return String(row.currency_code ?? '');
  return unit !== null && /^[A-Z]{3}$/.test(unit) ? unit : null;
}

function isBelowZero(cell: unknown): boolean {
  return (typeof cell === 'string' || typeof cell === 'number') && /^-\d*\.?\d*[1-9]/.test(String(cell));
}

/** An amount with the decimals of its currency, digits grouped. */
export function amountText(amount: string, currency: string): string {
  return grouped(roundedTo(amount, digitsOf(currency)));
}

/** A number half way between two is rounded away from zero. */
export function roundedTo(text: string, digits: number): string {
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.');
  const kept = BigInt(`${whole}${fraction.slice(0, digits).padEnd(digits, '0')}`);
  const all = String(kept + (Number(fraction[digits] ?? '0') >= 5 ? 1n : 0n)).padStart(digits + 1, '0');
  const rounded = digits === 0 ? all : `${all.slice(0, -digits)}.${all.slice(-digits)}`;
  return text.startsWith('-') && /[1-9]/.test(rounded) ? `-${rounded}` : rounded;
}
