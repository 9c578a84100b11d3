import { jsonValue } from '../lib/duckdb-values.ts';
import { jsonOrNull } from '../lib/text.ts';
import { findReport, type ReportDefinition } from './catalogue.ts';
import type { PublishedFile } from './open-published-file.ts';
import { bindParameters, setParameterVariables } from './parameters.ts';
import { type Days, parsePeriod, periodText } from './period.ts';
import { grouped, plural } from './render/labels.ts';
import type { AppliedFilters } from './report-filters.ts';
import type { Completeness, ReportResult } from './report-result.ts';

const MAX_NAMED = 3;
const STATES: Readonly<Record<string, string>> = { draft: 'draft', needs_attention: 'needs attention' };

/** @param asOf instant of the publication; a period that ends after its day is still open */
export async function completenessOf(
  file: PublishedFile,
  { from, to }: Days,
  { filters, asOf }: { readonly filters: AppliedFilters; readonly asOf: string },
): Promise<Completeness> {
  const days = { from, to };
  const rows = await file.run('not-counted', days);
  const found = Number(rows[0]?.found ?? 0);
  const named = rows
    .filter(({ number }) => number !== null)
    .map(({ number, tenant, state, stated }) => {
      const label = STATES[String(state)] ?? 'waiting to be loaded';
      const amount = stated === null ? '' : `, ${grouped(String(stated))}`;
      return `${number}${tenant === null ? '' : ` of ${tenant}`} (${label}${amount})`;
    });
  // All reports of a page need the gaps of the same days.
  const selection = [filters.partners, filters.tenants, filters.from, filters.to, from, to];
  const gaps = await file.cached(`number gaps ${JSON.stringify(selection)}`, () => numberGaps(file, days));
  const parts = [
    ...(found === 0 ? [] : [`${plural(found, 'known invoice')}: ${namesWithRest(named, found)}`]),
    ...(gaps.length === 0
      ? []
      : [
          `${plural(gaps.length, 'gap')} in the invoice numbers: ${namesWithRest(gaps.slice(0, MAX_NAMED), gaps.length)}`,
        ]),
  ];
  return {
    stillOpen: openUntil(to, {
      today: (filters.asKnownOn ?? asOf).slice(0, 10),
      billedTo: typeof rows[0]?.billed_to === 'string' ? rows[0].billed_to : null,
    }),
    notCounted: parts.length === 0 ? null : `${parts.join('; ')}.`,
    stated: (jsonOrNull(String(rows[0]?.totals ?? '{}')) ?? {}) as Completeness['stated'],
  };
}

function openUntil(
  to: string | null,
  { today, billedTo }: { readonly today: string; readonly billedTo: string | null },
): string | null {
  if (to === null) return null;
  if (to >= today) return `the period ends on ${to}; the data was published on ${today}.`;
  if (billedTo !== null && to > billedTo)
    return `the period ends on ${to}, and nothing after ${billedTo} is billed yet.`;
  return null;
}

async function numberGaps(file: PublishedFile, { from, to }: Days): Promise<readonly string[]> {
  const report = findReport('gaps');
  const sql = await setParameterVariables(file, report, bindParameters(report, {}));
  const rows = (await file.query(sql)).convertRowObjects(jsonValue);
  const inDays = rows.filter(
    ({ kind, expected_from: first, expected_to: last }) =>
      kind === 'number' &&
      (from === null || (last !== null && String(last) >= from)) &&
      (to === null || (first !== null && String(first) <= to)),
  );
  return inDays.map(({ tenant, finding }) => `${finding}${tenant === null ? '' : ` of ${tenant}`}`);
}

function namesWithRest(named: readonly string[], found: number): string {
  const more = found - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${grouped(String(more))} more` : ''}`;
}

export function notCountedNotes({ notCounted }: Completeness): readonly string[] {
  return notCounted === null ? [] : [`Not counted: ${notCounted}`];
}

export interface ComparedDays extends Completeness {
  readonly name: string;
}

export function comparedDaysOf({ from, to }: Days, found: Completeness): ComparedDays {
  return { ...found, name: periodText({ from, to }) };
}

export function comparesDays({ sources, parameters }: ReportDefinition): boolean {
  return sources.includes('budget') || parameters.some(({ name }) => name === 'second_from');
}

/** The days that are compared: the periods of the rows, or the months of a budget from first to last. */
export async function comparedDays(
  { completeness }: { readonly completeness: (days: Days) => Promise<Completeness> },
  { rows, head: { filters } }: Pick<ReportResult, 'rows' | 'head'>,
): Promise<readonly ComparedDays[]> {
  const months = rows.flatMap(({ month }) => (typeof month === 'string' ? [month] : [])).sort();
  const [first, last] = [months[0], months.at(-1)];
  const days = new Map<string, Days>();
  if (first !== undefined && last !== undefined)
    days.set('', { from: filters.from ?? `${first}-01`, to: filters.to ?? parsePeriod(last).to });
  for (const { period_from: from, period_to: to } of rows)
    if (typeof from === 'string' && typeof to === 'string') days.set(`${from} ${to}`, { from, to });
  const found: ComparedDays[] = [];
  for (const each of days.values()) found.push(comparedDaysOf(each, await completeness(each)));
  return found;
}

export function incompleteLabel(periods: readonly Completeness[]): string | null {
  const labels = [
    ...(periods.some(({ stillOpen }) => stillOpen !== null) ? ['still open'] : []),
    ...(periods.some(({ notCounted }) => notCounted !== null) ? ['incomplete'] : []),
  ];
  return labels.length === 0 ? null : labels.join(', ');
}

export function comparisonNotes(periods: readonly ComparedDays[]): readonly string[] {
  return periods.flatMap(({ name, stillOpen, notCounted }) => [
    ...(stillOpen === null ? [] : [`Still open: ${name}: ${stillOpen}`]),
    ...(notCounted === null ? [] : [`Incomplete: ${name} lacks ${notCounted}`]),
  ]);
}

export function markIncomplete(result: ReportResult, periods: readonly ComparedDays[]): ReportResult {
  const labels = incompleteLabel(periods);
  if (labels === null) return result;
  return {
    ...result,
    title: `${result.title} (${labels})`,
    head: { ...result.head, notes: [...comparisonNotes(periods), ...result.head.notes] },
  };
}
