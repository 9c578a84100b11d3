/**
 * `is_COLUMN` is exactly the value of a report's row, for drill-down. Values of a condition are bound as one
 * list: DuckDB's planning time grows with the square of the number of bound values and cannot be interrupted.
 */

import { didYouMean } from '../../lib/config/did-you-mean.ts';
import { markOfShortName, uuidOrNull } from '../../lib/text.ts';
import { invalidFilter } from '../errors.ts';
import { checkDay } from '../period.ts';

/** Values of one name are alternatives; all names apply. */
export type ShipmentConditions = Readonly<Record<string, readonly string[]>>;

export interface BoundConditions {
  readonly sql: string;
  readonly values: Readonly<Record<string, string | readonly string[]>>;
  readonly texts: Readonly<Record<string, string>>;
}

interface Condition {
  readonly label: string;
  /** Alternatives; `bind` returns the placeholder of a text or list. */
  readonly sql: (values: readonly string[], bind: Bind) => readonly string[];
}

type Bind = (value: string | readonly string[]) => string;

interface Bounded {
  readonly expression: string;
  readonly type: string;
  readonly check: (label: string, value: string) => string;
}

const COST: Bounded = { expression: 's.billing_cost', type: 'decimal(18, 4)', check: amountIn };
const WEIGHT: Bounded = { ...COST, expression: 'lb_of(s.billable_weight, s.billable_weight_unit)' };
const DAY: Bounded = { expression: 's.report_date', type: 'date', check: checkDay };
const INVOICED: Bounded = { ...DAY, expression: 's.invoice_generation_date' };

const TYPED: Readonly<Record<string, Condition>> = {
  tracking: { label: 'Tracking number', sql: trackingSql },
  service: { label: 'Service level', sql: anyOf('lower(s.service_level)', 'lower(?)') },
  origin: { label: 'Origin', sql: anyOf('origin_of(s.origin)', 'origin_of(?)') },
  invoice: { label: 'Invoice', sql: invoiceSql },
  cost_from: bounded('Cost from', COST, '>='),
  cost_to: bounded('Cost to', COST, '<='),
  weight_from: bounded('Weight from (lb)', WEIGHT, '>='),
  weight_to: bounded('Weight to (lb)', WEIGHT, '<='),
  lines: { label: 'Lines', sql: linesSql },
  days_from: bounded('Reported from', DAY, '>='),
  days_to: bounded('Reported to', DAY, '<='),
  invoiced_to: bounded('Invoiced to', INVOICED, '<='),
};

/** The expression, and how a bound value is compared; an empty value is "none". */
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

export function bindConditions(conditions: ShipmentConditions): BoundConditions {
  const values: Record<string, string | readonly string[]> = {};
  const bind: Bind = (value) => {
    const name = `condition_${Object.keys(values).length}`;
    values[name] = value;
    return `$${name}`;
  };
  const texts: Record<string, string> = {};
  const terms: string[] = [];
  for (const [name, given] of Object.entries(conditions)) {
    const chosen = name.startsWith('is_') ? given : given.filter((value) => value.trim() !== '');
    if (chosen.length === 0) continue;
    const { sql } = conditionOf(name);
    terms.push(`(${sql([...new Set(chosen)], bind).join(' or ')})`);
    texts[name] = chosen.map((value) => (value === '' ? '(none)' : value)).join(' or ');
  }
  return { sql: terms.length === 0 ? 'true' : terms.join(' and '), values, texts };
}

function conditionOf(name: string): Condition {
  const typed = Object.hasOwn(TYPED, name) ? TYPED[name] : undefined;
  if (typed) return typed;
  const column = name.replace(/^is_/, '');
  if (column === name || !Object.hasOwn(EXACT, column)) {
    throw invalidFilter(`Shipments have no condition "${name}".${didYouMean(name, CONDITION_NAMES)}`);
  }
  return { label: column, sql: (values, bind) => exactSql(column, values, bind) };
}

const MAX_PROBLEMS = 20;

function exactSql(column: string, values: readonly string[], bind: Bind): readonly string[] {
  const [expression = '', compared = '?'] = EXACT[column] ?? [];
  const known = values.filter((value) => value !== '');
  const none = known.length < values.length ? [`${expression} is null`] : [];
  if (column === 'problem') {
    if (known.length > MAX_PROBLEMS)
      throw invalidFilter(`There are no more than ${MAX_PROBLEMS} kinds of problems.`);
    return [...none, ...known.flatMap((value) => anyOf(expression, compared)([value], bind))];
  }
  // A page shortens long names in addresses.
  const marks = known.flatMap((value) => markOfShortName(value) ?? []);
  const whole = known.filter((value) => markOfShortName(value) === null);
  return [
    ...none,
    ...anyOf(expression, compared)(whole, bind),
    ...anyOf(`left(sha256(cast(${expression} as varchar)), 12)`, '?')(marks, bind),
  ];
}

function anyOf(expression: string, compared: string): Condition['sql'] {
  return (values, bind) => {
    const [value] = values;
    if (value === undefined) return [];
    if (values.length === 1) return [`${expression} = ${compared.replace('?', () => bind(value))}`];
    const listed = `unnest(cast(${bind(values)} as varchar[]))`;
    return [`${expression} in (select ${compared.replace('?', 'v')} from (select ${listed} as v))`];
  };
}

/** Matches the number without blanks and in upper case too; a final `*` matches any rest. */
function trackingSql(values: readonly string[], bind: Bind): readonly string[] {
  const isBeginning = (value: string): boolean => /.\*$/.test(value.trim());
  const beginnings = values.filter(isBeginning).map((value) => value.trim().slice(0, -1));
  const spellings = values
    .filter((value) => !isBeginning(value))
    .flatMap((value) => {
      const text = value.trim();
      const whole = text.replace(/\s+/g, '');
      return [value, text, whole, whole.toUpperCase()];
    });
  const [beginning] = beginnings;
  const begins =
    beginning === undefined
      ? []
      : beginnings.length === 1
        ? [`starts_with(s.tracking_number, ${bind(beginning)})`]
        : [
            `exists (select 1 from (select unnest(cast(${bind(beginnings)} as varchar[])) as v) where starts_with(s.tracking_number, v))`,
          ];
  return [...anyOf('s.tracking_number', '?')([...new Set(spellings)], bind), ...begins];
}

function invoiceSql(values: readonly string[], bind: Bind): readonly string[] {
  const texts = values.map((value) => value.trim());
  const ids = texts.flatMap((text) => uuidOrNull(text) ?? []);
  const numbers = texts.filter((text) => uuidOrNull(text) === null);
  return [
    ...anyOf('s.invoice_id', 'cast(? as uuid)')(ids, bind),
    ...anyOf('s.invoice_number', '?')(numbers, bind),
  ];
}

const LINES: Readonly<Record<string, string>> = {
  charges: 's.billing_cost > 0',
  credits: 's.billing_cost < 0',
  free: 's.billing_cost = 0',
};

function linesSql(values: readonly string[]): readonly string[] {
  return values.map((value) => {
    const found = Object.hasOwn(LINES, value) ? LINES[value] : undefined;
    if (found !== undefined) return found;
    throw invalidFilter(`"${value}" is no value for lines: take ${Object.keys(LINES).join(', ')}.`);
  });
}

/** The widest of several bounds applies. */
function bounded(label: string, { expression, type, check }: Bounded, operator: '>=' | '<='): Condition {
  const widest = operator === '>=' ? 'min' : 'max';
  const sql: Condition['sql'] = (values, bind) => {
    const listed = `unnest(cast(${bind(values.map((value) => check(label, value)))} as varchar[]))`;
    return [`${expression} ${operator} (select ${widest}(cast(v as ${type})) from (select ${listed} as v))`];
  };
  return { label, sql };
}

function amountIn(label: string, value: string): string {
  const text = value.trim();
  if (/^-?\d{1,14}(\.\d{1,4})?$/.test(text)) return text;
  const what = `"${value}" is no amount for ${label.toLowerCase()}`;
  throw invalidFilter(`${what}: write digits with a point and at most four decimals, as in 12.50.`);
}
