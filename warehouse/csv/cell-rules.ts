/** The rules a row has to keep, in TypeScript: the second reading of what sql/schema/session.sql checks, cell by cell. */

import { isNothing } from '../../contract/invisible.js';
import { CSV_HEADERS, type CsvHeader } from '../../contract/names.js';
import { uuidOrNull } from '../../contract/uuid-or-null.js';
import { isCurrency } from './currencies.js';

export type CellRule = 'required' | 'date' | 'amount' | 'weight' | 'unit' | 'currency' | 'invoice-id';

export interface BrokenCell {
  readonly column: CsvHeader;
  readonly rule: CellRule;
  readonly value: string;
}

const AMOUNT = /^-?[0-9]{1,14}(?:\.[0-9]{1,4})?$/;
const WEIGHT = /^[0-9]{1,14}(?:\.[0-9]{1,4})?$/;
const REQUIRED: ReadonlySet<CsvHeader> = new Set([
  'Tenant',
  'Invoice Generation Date',
  'Invoice ID',
  'Ship Date',
  'Currency Code',
  'Billing Cost',
  'Tracking Number',
  'Carrier',
]);

/**
 * What is wrong with the 14 cells of a record, from left to right; empty when it may be loaded.
 *
 * @param invoiceId null: any UUID will do
 */
export function brokenCells(cells: readonly string[], invoiceId: string | null): readonly BrokenCell[] {
  return CSV_HEADERS.flatMap((column, index) => {
    const value = cells[index] ?? '';
    const rule = brokenRule(column, value, cells, invoiceId);
    return rule === null ? [] : [{ column, rule, value }];
  });
}

function brokenRule(
  column: CsvHeader,
  value: string,
  cells: readonly string[],
  invoiceId: string | null,
): CellRule | null {
  if (REQUIRED.has(column) && isNothing(value)) return 'required';
  if (value === '') {
    // A weight without its unit means nothing; a unit without a weight says nothing and is let be.
    return column === 'Billable Weight Unit' && cells[WEIGHT_INDEX] !== '' ? 'unit' : null;
  }
  switch (column) {
    case 'Invoice Generation Date':
    case 'Ship Date':
    case 'Carrier Invoice Date':
      return isDay(value) ? null : 'date';
    case 'Invoice ID':
      return isUuidOf(value, invoiceId) ? null : 'invoice-id';
    case 'Currency Code':
      return isCurrency(value) ? null : 'currency';
    case 'Billing Cost':
      return AMOUNT.test(value) ? null : 'amount';
    case 'Billable Weight':
      return WEIGHT.test(value) ? null : 'weight';
    case 'Billable Weight Unit':
      return value === 'LB' || value === 'KG' ? null : 'unit';
    default:
      return null;
  }
}

function isUuidOf(text: string, invoiceId: string | null): boolean {
  return invoiceId === null ? uuidOrNull(text) !== null : text.toLowerCase() === invoiceId.toLowerCase();
}

const WEIGHT_INDEX = CSV_HEADERS.indexOf('Billable Weight');

/** A day that is in the calendar, written YYYY-MM-DD, from year 1 on. */
function isDay(text: string): boolean {
  const match = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  return day <= (days[month - 1] ?? 0);
}
