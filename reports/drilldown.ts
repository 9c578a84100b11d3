/**
 * Links a cell to the rows that it counts, as defined by `drilldown` lines of a report's header: `shipments
 * by carrier, currency_code; shipments, billing_cost`. Before the semicolon: the target and the selecting
 * columns of the row (`column as condition` where the names differ, `column as $parameter`; `column?`: an
 * empty cell means all; `name=value` is fixed). After it: the cells that equal a total of the target
 * (`cell=total` where the names differ, `totals` for the usual ones); other numbers are only computed from
 * it.
 */

import type { ReportColumn, ReportRow } from './cells.ts';
import { EXACT_CONDITIONS } from './shipments/conditions.ts';

export const DRILLDOWN_TARGETS = ['shipments', 'invoice', 'invoices', 'register'] as const;
export type DrilldownTarget = (typeof DRILLDOWN_TARGETS)[number];

export interface Drilldown {
  readonly target: DrilldownTarget;
  readonly by: readonly Binding[];
  readonly fixed: Readonly<Record<string, string>>;
  readonly exact: Readonly<Record<string, string>>;
}

interface Binding {
  readonly column: string;
  /** The name of the filter in the target; `$name` takes the value of that parameter. */
  readonly as: string;
  readonly isOptional: boolean;
}

export interface CellDrilldown {
  readonly target: DrilldownTarget;
  readonly fields: Readonly<Record<string, string>>;
  /** The total that the cell equals; null when the cell is only computed from those rows. */
  readonly total: string | null;
}

export function parseDrilldowns(report: string, lines: readonly string[]): readonly Drilldown[] {
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [, target, by = '', exact = ''] = /^(\w+)(?: by ([^;]+))?(?:; (.+))?$/.exec(line) ?? [];
      const known = DRILLDOWN_TARGETS.find((each) => each === target);
      if (known === undefined) throw new Error(`Report ${report}: it cannot link to "${line}".`);
      const items = listOf(by);
      return {
        target: known,
        by: items.filter((item) => !item.includes('=')).map(bindingOf),
        fixed: pairsOf(items.filter((item) => item.includes('='))),
        exact: pairsOf(listOf(exact).flatMap((item) => (item === 'totals' ? TOTALS : item))),
      };
    });
}

interface DrilldownSource {
  readonly columns: readonly ReportColumn[];
  readonly rows: readonly ReportRow[];
  readonly head: { readonly parameters: Readonly<Record<string, string | null>> };
}

/** Leads to the fields that all rows share; null when there is no target. */
export function drilldownOfCell(
  { drilldowns, result }: { readonly drilldowns: readonly Drilldown[]; readonly result: DrilldownSource },
  rows: readonly ReportRow[],
  column: string,
): CellDrilldown | null {
  const drilldown = drilldowns.find(({ exact }) => Object.hasOwn(exact, column)) ?? drilldowns[0];
  if (drilldown === undefined || rows.length === 0) return null;
  const fields: Record<string, string> = { ...drilldown.fixed };
  const shared: Binding[] = [];
  let isWhole = true;
  const bindings = result.columns.some(({ name, isDetail }) => name === 'partner_id' && !isDetail)
    ? [...drilldown.by, PARTNER]
    : drilldown.by;
  for (const binding of bindings) {
    if (!result.columns.some(({ name }) => name === binding.column)) continue;
    const values = new Set(rows.map((row) => row[binding.column] ?? null));
    const [value = null] = values;
    if (values.size > 1) {
      // An empty cell of an optional column means all, so the rows count lines more than once.
      if (binding.isOptional) isWhole = false;
      continue;
    }
    shared.push(binding);
    if (value === null && binding.isOptional) isWhole = false;
    else fields[fieldOf(binding, result)] = String(value ?? '');
  }
  // Shared fields of groups select exactly those groups; shared fields of single lines may select other lines
  // too.
  const areLines = drilldown.by.some((binding) => binding.column === 'row_number');
  if (rows.length > 1 && (areLines || Object.keys(fields).length === 0)) return null;
  // Rows that a chart combines need not be all that have the shared fields.
  if (rows.length > 1 && isWhole) {
    const isAlike = (row: ReportRow): boolean =>
      shared.every(({ column: name }) => (row[name] ?? null) === (rows[0]?.[name] ?? null));
    isWhole = result.rows.filter(isAlike).length === rows.length;
  }
  const total = drilldown.exact[column] ?? null;
  return { target: drilldown.target, fields, total: isWhole ? total : null };
}

const TOTALS: readonly string[] = [
  ...['shipments', 'billing_cost', 'packages', 'invoices', 'cost_per_shipment'],
  ...['billable_weight_lb', 'cost_per_lb', 'credits'],
];

const PARTNER: Binding = { column: 'partner_id', as: 'partner_id', isOptional: false };

const CALLED: Readonly<Record<string, string>> = { service: 'service_level', weight: 'weight_break' };

function fieldOf({ as }: Binding, { head }: DrilldownSource): string {
  const item = as.startsWith('$') ? (head.parameters[as.slice(1)] ?? '') : as;
  const name = CALLED[item] ?? item;
  return EXACT_CONDITIONS.includes(`is_${name}`) ? `is_${name}` : name;
}

function bindingOf(item: string): Binding {
  const [named = '', as] = item.split(' as ');
  const column = named.replace('?', '');
  return { column, as: as ?? column, isOptional: named.endsWith('?') };
}

function pairsOf(items: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    items.map((item) => {
      const [name = '', value] = item.split('=');
      return [name, value ?? name];
    }),
  );
}

/** Splits a text at its commas. */
export function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
