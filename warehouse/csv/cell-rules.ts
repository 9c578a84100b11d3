/** The macros of sql/csv-session.sql are the independent first implementation of these rules. */

import { isDay, isWithoutVisible, uuidOrNull } from '../../lib/text.ts';
import { type ColumnRule, CSV_COLUMNS, type CsvColumn, type CsvHeader } from '../../lib/wire/csv-file.ts';

export type CellRule = 'required' | Exclude<ColumnRule, 'text'>;

export interface BrokenCell {
  readonly column: CsvHeader;
  readonly rule: CellRule;
  readonly value: string;
}

const AMOUNT = /^-?[0-9]{1,14}(?:\.[0-9]{1,4})?$/;
const WEIGHT = /^[0-9]{1,14}(?:\.[0-9]{1,4})?$/;

const KEEPS: Record<Exclude<ColumnRule, 'text'>, (cell: string, invoiceId: string | null) => boolean> = {
  date: (cell) => cell >= '0001' && isDay(cell),
  'invoice-id': (cell, invoiceId) =>
    invoiceId === null ? uuidOrNull(cell) !== null : cell.toLowerCase() === invoiceId.toLowerCase(),
  currency: isCurrency,
  amount: (cell) => AMOUNT.test(cell),
  weight: (cell) => WEIGHT.test(cell),
  unit: (cell) => cell === 'LB' || cell === 'KG',
};

/** @param invoiceId the id that every row must have; null accepts any UUID */
export function brokenCells(cells: readonly string[], invoiceId: string | null): readonly BrokenCell[] {
  return CSV_COLUMNS.flatMap((column, index) => {
    const value = cells[index] ?? '';
    const rule = brokenRule(column, value, cells, invoiceId);
    return rule === null ? [] : [{ column: column.header, rule, value }];
  });
}

function brokenRule(
  { rule, isRequired }: CsvColumn,
  value: string,
  cells: readonly string[],
  invoiceId: string | null,
): CellRule | null {
  if (isRequired && isWithoutVisible(value)) return 'required';
  if (rule === 'text') return null;
  // A weight needs a unit; a unit without a weight is accepted.
  if (value === '') return rule === 'unit' && cells[WEIGHT_INDEX] !== '' ? rule : null;
  return KEEPS[rule](value, invoiceId) ? null : rule;
}

const WEIGHT_INDEX = CSV_COLUMNS.findIndex(({ rule }) => rule === 'weight');

/** The codes of ISO 4217 without XTS and XXX; withdrawn ones are among them, because old invoices are loaded too. */
const CODES = new Set(
  (
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF ' +
    'CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD ' +
    'GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP ' +
    'LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN ' +
    'PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS ' +
    'TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD XCD ' +
    'XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR ZMW ZWG ZWL'
  ).split(' '),
);

export function isCurrency(code: string): boolean {
  return CODES.has(code);
}
