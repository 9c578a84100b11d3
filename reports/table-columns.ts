/** The columns of the CSV files that a person may add to a report, and how each cell is read. */

import { type DuckDBAppender, DuckDBDateValue, DuckDBDecimalValue } from '@duckdb/node-api';
import type { ExtraTable } from './catalogue.ts';
import { invalidFilter, type ReportError } from './errors.ts';
import { checkDay } from './period.ts';

export interface TableColumn {
  readonly name: string;
  /**
   * `month` is `2026-03`; a `decimal` has at most four digits after the point, a `rate` eight; a `step` is a decimal
   * from 0.01 on; a `currency` has three letters and a `unit` is lb, kg or oz, both in upper or lower case.
   */
  readonly kind: 'text' | 'decimal' | 'rate' | 'step' | 'date' | 'month' | 'currency' | 'unit';
  /** An empty cell is null and fits all. */
  readonly may?: 'be empty' | 'be missing';
  /** Another name that the header may have for it. */
  readonly also?: string;
}

export const COLUMNS: Readonly<Record<ExtraTable, readonly TableColumn[]>> = {
  /** Expected prices: from_lb < weight <= to_lb (in pounds without a unit), valid_from <= day < valid_to. A null fits all. */
  rates: [
    { name: 'carrier', kind: 'text', may: 'be empty' },
    { name: 'service_level', kind: 'text', may: 'be empty' },
    { name: 'zone', kind: 'text', may: 'be empty' },
    { name: 'from_lb', kind: 'decimal', may: 'be empty', also: 'from_weight' },
    { name: 'to_lb', kind: 'decimal', may: 'be empty', also: 'to_weight' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'rate', kind: 'decimal' },
    { name: 'valid_from', kind: 'date', may: 'be missing' },
    { name: 'valid_to', kind: 'date', may: 'be missing' },
    { name: 'unit', kind: 'unit', may: 'be missing' },
  ],
  /** Carriers round weights up to whole steps, up to and with up_to (null: all heavier ones). A null carrier: all that are not named. */
  weights: [
    { name: 'carrier', kind: 'text', may: 'be empty' },
    { name: 'unit', kind: 'unit' },
    { name: 'step', kind: 'step' },
    { name: 'up_to', kind: 'step', may: 'be missing' },
  ],
  /** Our own cost of a shipment; several lines of one tracking number are added. */
  costs: [
    { name: 'carrier', kind: 'text' },
    { name: 'tracking_number', kind: 'text' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'cost', kind: 'decimal' },
  ],
  /** Accepted differences with the reason; without an invoice number for all invoices. */
  accepted: [
    { name: 'invoice_number', kind: 'text', may: 'be empty' },
    { name: 'rule', kind: 'text' },
    { name: 'reason', kind: 'text' },
  ],
  /** Payments of an invoice; several are added. A null tenant matches any. */
  payments: [
    { name: 'invoice_number', kind: 'text' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
    { name: 'paid_on', kind: 'date', may: 'be missing' },
    { name: 'tenant', kind: 'text', may: 'be missing' },
  ],
  /** A carrier's own statement; several lines of one date are added. */
  statements: [
    { name: 'carrier', kind: 'text' },
    { name: 'carrier_invoice_date', kind: 'date' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
  ],
  /** Disputed amounts; several of one number are added. */
  disputes: [
    { name: 'carrier', kind: 'text' },
    { name: 'tracking_number', kind: 'text' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
  ],
  /** Budget of a month; a null tenant or carrier is the budget of all. */
  budget: [
    { name: 'month', kind: 'month' },
    { name: 'tenant', kind: 'text', may: 'be empty' },
    { name: 'carrier', kind: 'text', may: 'be empty' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
  ],
  /** Rates of exchange: one of from_currency is rate of to_currency; a null month is for all. */
  fx: [
    { name: 'month', kind: 'month', may: 'be empty' },
    { name: 'from_currency', kind: 'currency' },
    { name: 'to_currency', kind: 'currency' },
    { name: 'rate', kind: 'rate' },
  ],
};

const NUMBER = 'decimal(18, 4)';
const TYPES: Readonly<Partial<Record<TableColumn['kind'], string>>> = {
  decimal: NUMBER,
  step: NUMBER,
  rate: 'decimal(18, 8)',
  date: 'date',
};

/** The statement that makes a session's table for such a file, empty. */
export function createTable(table: ExtraTable): string {
  const columns = COLUMNS[table].map(
    ({ name, kind, may }) => `${name} ${TYPES[kind] ?? 'varchar'}${may === undefined ? ' not null' : ''}`,
  );
  return `create or replace temp table ${table} (line integer not null, ${columns.join(', ')})`;
}

/** An expression that identifies a row: the cells by which it is joined. */
export function rowName(table: ExtraTable): string {
  const keys = COLUMNS[table].filter(({ name, kind }) => JOINED.includes(kind) && name !== 'reason');
  return `concat_ws(' ', ${keys.map(({ name }) => name).join(', ')})`;
}
const JOINED: readonly TableColumn['kind'][] = ['text', 'date', 'month', 'currency'];

/** Unique keys of files whose duplicate lines would contradict each other; case is ignored. */
export const UNIQUE: Readonly<Partial<Record<ExtraTable, readonly string[]>>> = {
  weights: ['carrier', 'up_to'],
  fx: ['month', 'from_currency', 'to_currency'],
};

/**
 * @param place of the cell, for the message: file, line and column
 * @throws ReportError naming the place, the value and what to write instead
 */
export function appendCell(
  appender: DuckDBAppender,
  cell: {
    readonly column: TableColumn;
    readonly place: string;
    readonly text: string;
  },
): void {
  const { column, place } = cell;
  const text = cell.text.trim();
  const refuse = (what: string): ReportError => invalidFilter(`${place} is "${text}", ${what}.`);
  if (text === '') {
    if (column.may === undefined) throw invalidFilter(`${place} is empty: write a value.`);
    appender.appendNull();
    return;
  }
  if (column.kind === 'text') appender.appendVarchar(text);
  else if (column.kind === 'date') appender.appendDate(dateOf(text, refuse));
  else if (column.kind in WORDS) appender.appendVarchar(wordOf(column.kind as Word, text, refuse));
  else {
    if (column.kind === 'step' && TOO_SMALL.test(text))
      throw refuse('which is too small: write at least 0.01');
    appender.appendDecimal(decimalOf(text, column.kind === 'rate' ? 8 : 4, refuse));
  }
}

/** Less than a hundredth. */
const TOO_SMALL = /^-|^0*(\.0(0\d*)?)?$/;

type Word = 'currency' | 'unit' | 'month';

/** Formats of texts, the advice for others, and normalization. */
const WORDS: Readonly<Record<Word, { form: RegExp; instead: string; kept: (text: string) => string }>> = {
  currency: {
    form: /^[a-z]{3}$/i,
    instead: 'which is not a currency: write its three letters, as in USD',
    kept: (text) => text.toUpperCase(),
  },
  unit: {
    form: /^(lb|kg|oz)$/i,
    instead: 'which is not a unit of weight: write lb, kg or oz',
    kept: (text) => text.toLowerCase(),
  },
  month: {
    form: /^\d{4}-(0[1-9]|1[0-2])$/,
    instead: 'which is no month: write it as YYYY-MM',
    kept: (text) => text,
  },
};

function wordOf(kind: Word, text: string, refuse: Refuse): string {
  const { form, instead, kept } = WORDS[kind];
  if (form.test(text)) return kept(text);
  throw refuse(instead);
}

type Refuse = (what: string) => ReportError;

/** Checked here, because the appender silently wraps a number that does not fit (hazard 8). */
function decimalOf(text: string, digits: 4 | 8, refuse: Refuse): DuckDBDecimalValue {
  const match = new RegExp(`^(-?)(\\d{1,${18 - digits}})(?:\\.(\\d{1,${digits}}))?$`).exec(text);
  if (/^-?[\d.]*,\d+$/.test(text))
    throw refuse('which has a comma: write decimals with a point, as in 12.50');
  if (!match) {
    const most = digits === 4 ? 'four' : 'eight';
    throw refuse(
      `which is not a number: write digits with a point and at most ${most} decimals, as in 12.50`,
    );
  }
  const whole = BigInt(`${match[1]}${match[2]}${(match[3] ?? '').padEnd(digits, '0')}`);
  return new DuckDBDecimalValue(whole, 18, digits);
}

function dateOf(text: string, refuse: Refuse): DuckDBDateValue {
  try {
    return new DuckDBDateValue(Date.parse(`${checkDay('date', text)}T00:00:00Z`) / 86_400_000);
  } catch {
    throw refuse('which is no day: write it as YYYY-MM-DD');
  }
}
