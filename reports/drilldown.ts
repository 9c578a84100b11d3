/**
 * From a cell of a report to what it counts: each report's header says it in lines of `leads`, and nothing else does.
 *
 *     -- leads: shipments by carrier, currency_code; shipments, billing_cost, packages
 *
 * Before the semicolon stands where a row leads and by what: columns of the row, `column as condition` where the list of
 * shipments calls it otherwise, `column as $parameter` where a parameter says what the column is, `column?` where none
 * means all, `name=word` for a filter that is always set. Behind it stand the cells that are equal to a total of what
 * they lead to, `cell=total` where the names differ, `totals` for all that have the name of one; every other number is computed of what it leads to.
 */

import type { ReportCell, ReportResult, ReportRow } from './report-result.ts';
import { EXACT_CONDITIONS } from './shipments/conditions.ts';

export const LEAD_TARGETS = ['shipments', 'invoice', 'invoices', 'register'] as const;
export type LeadTarget = (typeof LEAD_TARGETS)[number];

export interface Lead {
  readonly target: LeadTarget;
  readonly by: readonly Binding[];
  readonly fixed: Readonly<Record<string, string>>;
  /** The total that a cell is equal to, by the cell's column. */
  readonly exact: Readonly<Record<string, string>>;
}

interface Binding {
  readonly column: string;
  /** What the target calls it; `$name` is what that parameter says. */
  readonly as: string;
  readonly isOptional: boolean;
}

export interface CellLead {
  readonly target: LeadTarget;
  /** Fields of the target's address, besides the filters of the report. */
  readonly fields: Readonly<Record<string, string>>;
  /** The total of those shipments that the cell is equal to; null: the cell is computed of them. */
  readonly total: string | null;
}

/** @throws Error when a line is none; such a header is our own mistake and a test reads them all. */
export function leadsOf(report: string, lines: readonly string[]): readonly Lead[] {
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [, target, by = '', exact = ''] = /^(\w+)(?: by ([^;]+))?(?:; (.+))?$/.exec(line) ?? [];
      const known = LEAD_TARGETS.find((each) => each === target);
      if (known === undefined) throw new Error(`Report ${report}: it cannot lead to "${line}".`);
      const words = listOf(by);
      return {
        target: known,
        by: words.filter((word) => !word.includes('=')).map(bindingOf),
        fixed: pairsOf(words.filter((word) => word.includes('='))),
        exact: pairsOf(listOf(exact).flatMap((word) => (word === 'totals' ? TOTALS : word))),
      };
    });
}

/** Where a number of these rows leads, the fields that all of them share; null: it leads nowhere. */
export function leadOfCell(
  { leads, result }: { readonly leads: readonly Lead[]; readonly result: ReportResult },
  rows: readonly ReportRow[],
  column: string,
): CellLead | null {
  const lead = leads.find(({ exact }) => Object.hasOwn(exact, column)) ?? leads[0];
  if (lead === undefined || rows.length === 0) return null;
  const fields: Record<string, string> = { ...lead.fixed };
  let isWhole = true;
  const bindings = result.columns.some(({ name, isDetail }) => name === 'partner_id' && !isDetail)
    ? [...lead.by, PARTNER]
    : lead.by;
  for (const binding of bindings) {
    if (!result.columns.some(({ name }) => name === binding.column)) continue;
    const values = new Set(rows.map((row) => row[binding.column] ?? null));
    const [value = null] = values;
    if (values.size > 1) continue;
    if (value === null && binding.isOptional) isWhole = false;
    else fields[fieldOf(binding, result)] = textOf(value);
  }
  // What rows have in common is all of them where they are groups; of lines there may be others that have it too.
  const areLines = lead.by.some((binding) => binding.column === 'row_number');
  if (rows.length > 1 && (areLines || Object.keys(fields).length === 0)) return null;
  const total = lead.exact[column] ?? null;
  return { target: lead.target, fields, total: isWhole ? total : null };
}

/** What a report has of these is the total of its name, where its header says `totals`. */
const TOTALS: readonly string[] = [
  ...['shipments', 'billing_cost', 'packages', 'invoices', 'cost_per_shipment'],
  ...['billable_weight_lb', 'cost_per_lb', 'credits'],
];

const PARTNER: Binding = { column: 'partner_id', as: 'partner_id', isOptional: false };

/** What parameters call otherwise than the list of shipments. */
const CALLED: Readonly<Record<string, string>> = { service: 'service_level', weight: 'weight_break' };

function fieldOf({ as }: Binding, { head }: ReportResult): string {
  const word = as.startsWith('$') ? (head.parameters[as.slice(1)] ?? '') : as;
  const name = CALLED[word] ?? word;
  return EXACT_CONDITIONS.includes(`is_${name}`) ? `is_${name}` : name;
}

function textOf(cell: ReportCell): string {
  return cell === null ? '' : String(cell);
}

function bindingOf(word: string): Binding {
  const [named = '', as] = word.split(' as ');
  const column = named.replace('?', '');
  return { column, as: as ?? column, isOptional: named.endsWith('?') };
}

function pairsOf(words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    words.map((word) => {
      const [name = '', value] = word.split('=');
      return [name, value ?? name];
    }),
  );
}

function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}
