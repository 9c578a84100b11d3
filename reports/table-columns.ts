import { type DuckDBAppender, DuckDBDateValue } from '@duckdb/node-api';
import { dayNumber, decimalValue } from '../lib/duckdb-values.ts';
import { isDay } from '../lib/text.ts';
import type { ExtraTable } from './catalogue.ts';

export interface TableColumn {
  readonly name: string;
  /**
   * `month` is `2026-03`; a `decimal` has at most four digits after the point, a `rate` eight; a `step` is a
   * decimal from 0.01 on.
   */
  readonly kind: 'text' | 'decimal' | 'rate' | 'step' | 'date' | 'month' | 'currency' | 'unit';
  /** An empty cell is null and fits all. */
  readonly may?: 'be empty' | 'be missing';
  readonly also?: string;
}

export const COLUMNS: Readonly<Record<ExtraTable, readonly TableColumn[]>> = {
  /** from_lb < weight <= to_lb (pounds without a unit), valid_from <= day < valid_to; null fits all. */
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
  /**
   * Weights are rounded up to whole steps, up to and with up_to (null: all heavier ones). A null carrier: all
   * others.
   */
  weights: [
    { name: 'carrier', kind: 'text', may: 'be empty' },
    { name: 'unit', kind: 'unit' },
    { name: 'step', kind: 'step' },
    { name: 'up_to', kind: 'step', may: 'be missing' },
  ],
  /** Own costs; lines of one tracking number are added. */
  costs: [
    { name: 'carrier', kind: 'text' },
    { name: 'tracking_number', kind: 'text' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'cost', kind: 'decimal' },
  ],
  /** Without an invoice number for all invoices. */
  accepted: [
    { name: 'invoice_number', kind: 'text', may: 'be empty' },
    { name: 'rule', kind: 'text' },
    { name: 'reason', kind: 'text' },
  ],
  /** Several of an invoice are added; a null tenant matches any. */
  payments: [
    { name: 'invoice_number', kind: 'text' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
    { name: 'paid_on', kind: 'date', may: 'be missing' },
    { name: 'tenant', kind: 'text', may: 'be missing' },
  ],
  /** The costs of lines with one date are added. */
  statements: [
    { name: 'carrier', kind: 'text' },
    { name: 'carrier_invoice_date', kind: 'date' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
  ],
  /** Several of one number are added. */
  disputes: [
    { name: 'carrier', kind: 'text' },
    { name: 'tracking_number', kind: 'text' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
  ],
  budget: [
    { name: 'month', kind: 'month' },
    { name: 'tenant', kind: 'text', may: 'be empty' },
    { name: 'carrier', kind: 'text', may: 'be empty' },
    { name: 'currency_code', kind: 'currency' },
    { name: 'amount', kind: 'decimal' },
  ],
  /** One from_currency is rate of to_currency; a null month is for all. day is the day of the rate. */
  fx: [
    { name: 'month', kind: 'month', may: 'be empty' },
    { name: 'from_currency', kind: 'currency' },
    { name: 'to_currency', kind: 'currency' },
    { name: 'rate', kind: 'rate' },
    { name: 'day', kind: 'date', may: 'be missing' },
  ],
};

interface CellKind {
  readonly type: 'varchar' | 'date' | `decimal(18, ${number})`;
  readonly form: RegExp;
  readonly advice: string;
  readonly append: (appender: DuckDBAppender, text: string) => void;
  readonly isKey?: false;
}

const CELL_KINDS: Readonly<Record<TableColumn['kind'], CellKind>> = {
  text: varchar(/./, '', (text) => text),
  currency: varchar(/^[a-z]{3}$/i, 'is not a currency: write its three letters, as in USD', (text) =>
    text.toUpperCase(),
  ),
  unit: {
    ...varchar(/^(lb|kg|oz)$/i, 'is not a unit of weight: write lb, kg or oz', (text) => text.toLowerCase()),
    isKey: false,
  },
  month: varchar(/^\d{4}-(0[1-9]|1[0-2])$/, 'is no month: write it as YYYY-MM', (text) => text),
  date: {
    type: 'date',
    form: /^\d{4}-\d{2}-\d{2}$/,
    advice: 'is no day: write it as YYYY-MM-DD',
    append: (appender, text) => appender.appendDate(new DuckDBDateValue(dayNumber(text))),
  },
  decimal: decimal(4),
  rate: decimal(8),
  step: decimal(4),
};

function varchar(form: RegExp, advice: string, normalized: (text: string) => string): CellKind {
  return {
    ...{ type: 'varchar', form, advice },
    append: (appender, text) => appender.appendVarchar(normalized(text)),
  };
}

/** Checked by form: the appender silently wraps a number that does not fit (hazard 8). */
function decimal(digits: 4 | 8): CellKind {
  const most = digits === 4 ? 'four' : 'eight';
  return {
    type: `decimal(18, ${digits})`,
    form: new RegExp(`^-?\\d{1,${18 - digits}}(\\.\\d{1,${digits}})?$`),
    advice: `is not a number: write digits with a point and at most ${most} decimals, as in 12.50`,
    append: (appender, text) => appender.appendDecimal(decimalValue(text, 18, digits)),
    isKey: false,
  };
}

export function createTable(table: ExtraTable): string {
  const columns = COLUMNS[table].map(
    ({ name, kind, may }) => `${name} ${CELL_KINDS[kind].type}${may === undefined ? ' not null' : ''}`,
  );
  return `create or replace temp table ${table} (line integer not null, ${columns.join(', ')})`;
}

export function rowName(table: ExtraTable): string {
  const keys = COLUMNS[table].filter(({ name, kind }) => CELL_KINDS[kind].isKey ?? name !== 'reason');
  return `concat_ws(' ', ${keys.map(({ name }) => name).join(', ')})`;
}

/** Duplicates would contradict each other; case is ignored. */
export const UNIQUE: Readonly<Partial<Record<ExtraTable, readonly string[]>>> = {
  weights: ['carrier', 'up_to'],
  fx: ['month', 'from_currency', 'to_currency'],
};

/** A sentence naming place, value and what to write instead; null: the cell is right. */
export function cellProblem({ kind, may }: TableColumn, cell: string, place: string): string | null {
  const text = cell.trim();
  if (text === '') return may === undefined ? `${place} is empty: write a value.` : null;
  const { form, advice } = CELL_KINDS[kind];
  const problem = problemOf(kind, text) ?? (form.test(text) ? null : advice);
  return problem === null ? null : `${place} is "${text}", which ${problem}.`;
}

/** @param cell without a problem */
export function appendCell(appender: DuckDBAppender, { kind }: TableColumn, cell: string): void {
  const text = cell.trim();
  if (text === '') appender.appendNull();
  else CELL_KINDS[kind].append(appender, text);
}

const TOO_SMALL = /^-|^0*(\.0(0\d*)?)?$/;

function problemOf(kind: TableColumn['kind'], text: string): string | null {
  if (kind === 'date' && !isDay(text)) return CELL_KINDS.date.advice;
  if (kind === 'step' && TOO_SMALL.test(text)) return 'is too small: write at least 0.01';
  const isDecimal = CELL_KINDS[kind].type.startsWith('decimal');
  return isDecimal && /^-?[\d.]*,\d+$/.test(text)
    ? 'has a comma: write decimals with a point, as in 12.50'
    : null;
}
