/**
 * What shipments are asked for besides the filters of every report: a number, a service, an origin, an invoice, a range
 * of cost or weight; and `is_COLUMN`, exactly the value that a report's row has, by which a cell leads to its shipments.
 *
 * Values are bound; what is written into a statement are the expressions below.
 */

import type { DuckDBValue } from '@duckdb/node-api';
import { uuidOrNull } from '../../contract/uuid-or-null.ts';
import { ReportFilterError } from '../errors.ts';
import { nearestNames } from '../nearest-names.ts';
import { checkDate } from '../report-filters.ts';

/** As typed, by name; several values of one name mean any of them, several names all of them. */
export type ShipmentConditions = Readonly<Record<string, readonly string[]>>;

export interface BoundConditions {
  /** An expression over `selected_shipments as s`; `true` when nothing is asked. */
  readonly sql: string;
  readonly values: Readonly<Record<string, DuckDBValue>>;
  /** As text, for the head. */
  readonly shown: Readonly<Record<string, string>>;
}

interface Condition {
  /** For the head and for the fields of a form. */
  readonly label: string;
  /** The expression that holds where the value fits; `bind` gives the name of a bound text. */
  readonly sql: (value: string, bind: (text: string) => string) => string;
}

/** What a person types. */
const TYPED: Readonly<Record<string, Condition>> = {
  tracking: { label: 'Tracking number', sql: trackingSql },
  service: { label: 'Service level', sql: (value, bind) => `lower(s.service_level) = lower(${bind(value)})` },
  origin: { label: 'Origin', sql: (value, bind) => `origin_of(s.origin) = origin_of(${bind(value)})` },
  invoice: { label: 'Invoice', sql: invoiceSql },
  cost_from: range('Cost from', 's.billing_cost', '>='),
  cost_to: range('Cost to', 's.billing_cost', '<='),
  weight_from: range('Weight from (lb)', 'lb_of(s.billable_weight, s.billable_weight_unit)', '>='),
  weight_to: range('Weight to (lb)', 'lb_of(s.billable_weight, s.billable_weight_unit)', '<='),
  lines: { label: 'Lines', sql: linesSql },
  days_from: day('Reported from', '>='),
  days_before: day('Reported before', '<'),
};

/**
 * What a report groups by, as an expression and as what a bound value is compared as; `is_` stands before the names. An
 * empty value is "none".
 */
const EXACT: Readonly<Record<string, readonly [expression: string, value?: string]>> = {
  tenant: ['s.tenant'],
  tenant_id: ['s.tenant_id'],
  partner_id: ['s.partner_id'],
  carrier: ['s.carrier'],
  carrier_in_any_case: ['lower(s.carrier)', 'lower(?)'],
  carrier_zone: ['s.carrier_zone'],
  zone: ['s.zone'],
  service_level: ['s.service_level'],
  origin: ['s.origin'],
  weight_break: ['break_name(weight_break_of(s.billable_weight, s.billable_weight_unit))'],
  rated_lb: ['rated_lb(s.billable_weight, s.billable_weight_unit)', 'try_cast(? as decimal(24, 4))'],
  currency_code: ['s.currency_code'],
  month: ['month_start(s.report_date)', "try_cast(? || '-01' as date)"],
  week: ["period_start(s.report_date, 'week')", "cast(try_strptime(? || '-1', '%G-W%V-%u') as date)"],
  ship_month: ['month_start(s.ship_date)', "try_cast(? || '-01' as date)"],
  ship_date: ['s.ship_date', 'try_cast(? as date)'],
  carrier_invoice_date: ['s.carrier_invoice_date', 'try_cast(? as date)'],
  tracking_number: ['s.tracking_number'],
  invoice_number: ['s.invoice_number'],
  invoice_id: ['s.invoice_id', 'try_cast(? as uuid)'],
  row_number: ['s.row_number', 'try_cast(? as bigint)'],
  billing_cost: ['s.billing_cost', 'try_cast(? as decimal(18, 4))'],
  problem: [
    'true',
    '((s.invoice_id, s.row_number) in (select (invoice_id, row_number) from faulty_lines where has_fault(faults, ?)))',
  ],
};

export const TYPED_CONDITIONS = Object.entries(TYPED).map(([name, { label }]) => ({ name, label }));
export const EXACT_CONDITIONS = Object.keys(EXACT).map((name) => `is_${name}`);
export const CONDITION_NAMES: readonly string[] = [...Object.keys(TYPED), ...EXACT_CONDITIONS];

/** @throws ReportFilterError naming the condition and its value */
export function bindConditions(conditions: ShipmentConditions): BoundConditions {
  const values: Record<string, DuckDBValue> = {};
  const bind = (text: string): string => {
    const name = `asked_${Object.keys(values).length}`;
    values[name] = text;
    return `$${name}`;
  };
  const shown: Record<string, string> = {};
  const terms: string[] = [];
  for (const [name, asked] of Object.entries(conditions)) {
    const wanted = name.startsWith('is_') ? asked : asked.filter((value) => value.trim() !== '');
    if (wanted.length === 0) continue;
    const { sql } = conditionOf(name);
    terms.push(`(${wanted.map((value) => sql(value, bind)).join(' or ')})`);
    shown[name] = wanted.map((value) => (value === '' ? '(none)' : value)).join(' or ');
  }
  return { sql: terms.length === 0 ? 'true' : terms.join(' and '), values, shown };
}

function conditionOf(name: string): Condition {
  const typed = Object.hasOwn(TYPED, name) ? TYPED[name] : undefined;
  if (typed) return typed;
  const column = name.replace(/^is_/, '');
  if (column === name || !Object.hasOwn(EXACT, column)) {
    const near = nearestNames(name, CONDITION_NAMES);
    const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '';
    throw new ReportFilterError(name, `Shipments cannot be asked by "${name}".${hint}`);
  }
  return {
    label: column,
    sql(value, bind) {
      // Reports that can be asked by week call that column month as well.
      const meant = column === 'month' && value.includes('-W') ? 'week' : column;
      const [expression = '', compared = '?'] = EXACT[meant] ?? [];
      return value === ''
        ? `${expression} is null`
        : `${expression} = ${compared.replace('?', () => bind(value))}`;
    },
  };
}

/** As it is typed, without blanks, in capital letters; a star at its end stands for the rest. */
function trackingSql(value: string, bind: (text: string) => string): string {
  const text = value.trim();
  if (/.\*$/.test(text)) return `starts_with(s.tracking_number, ${bind(text.slice(0, -1))})`;
  const whole = text.replace(/\s+/g, '');
  const spellings = new Set([value, text, whole, whole.toUpperCase()]);
  return `s.tracking_number in (${[...spellings].map(bind).join(', ')})`;
}

function invoiceSql(value: string, bind: (text: string) => string): string {
  const text = value.trim();
  const id = uuidOrNull(text);
  return id === null ? `s.invoice_number = ${bind(text)}` : `s.invoice_id = cast(${bind(id)} as uuid)`;
}

const LINES: Readonly<Record<string, string>> = {
  charges: 's.billing_cost > 0',
  credits: 's.billing_cost < 0',
  free: 's.billing_cost = 0',
};

function linesSql(value: string): string {
  const found = Object.hasOwn(LINES, value) ? LINES[value] : undefined;
  if (found !== undefined) return found;
  throw new ReportFilterError(
    'lines',
    `"${value}" is no value for lines: take ${Object.keys(LINES).join(', ')}.`,
  );
}

function range(label: string, expression: string, operator: '>=' | '<='): Condition {
  return {
    label,
    sql(value, bind) {
      const text = value.trim();
      if (/^-?\d{1,14}(\.\d{1,4})?$/.test(text))
        return `${expression} ${operator} cast(${bind(text)} as decimal(18, 4))`;
      const what = `"${value}" is no amount for ${label.toLowerCase()}`;
      throw new ReportFilterError(
        label,
        `${what}: write digits with a point and at most four decimals, as in 12.50.`,
      );
    },
  };
}

function day(label: string, operator: '>=' | '<'): Condition {
  return {
    label,
    sql: (value, bind) => `s.report_date ${operator} cast(${bind(checkDate(label, value))} as date)`,
  };
}
