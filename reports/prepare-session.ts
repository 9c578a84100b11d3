/** Prepares the session of a report: matches the filters, creates the views that apply them, and counts for the head. */

import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { jsonValue } from '../lib/duckdb-values.ts';
import { completenessOf, type Days } from './completeness.ts';
import {
  type FilterMatch,
  knownPartners,
  matchNames,
  matchPartners,
  matchTenants,
  type Partner,
} from './match-filters.ts';
import type { PublishedFile } from './published-file.ts';
import type { AppliedFilters, ReportLevel } from './report-filters.ts';
import {
  chooseLevel,
  type LevelCount,
  type LevelSize,
  levelsIn,
  levelsOf,
  withLevels,
} from './report-head.ts';
import type { Completeness } from './report-result.ts';

/** Counts by level without filters, which sessions of one publication share. */
export interface Counted {
  readonly publication: number;
  readonly counts: readonly LevelCount[];
}

export interface Prepared {
  readonly publication: number;
  readonly level: ReportLevel;
  /** By level, with the filters; read once. */
  readonly count: () => Promise<readonly LevelCount[]>;
  /** Completeness of a period; that of the filters is computed once. */
  readonly completeness: (days?: Days) => Promise<Completeness>;
  /** By level, without filters. */
  readonly all: readonly LevelSize[];
  readonly asOf: string;
  readonly asKnownOn: string | null;
  readonly matches: readonly FilterMatch[];
  /** The partners for which a report runs one after another; null when the file has none. */
  readonly partners: readonly (string | null)[];
}

/** Filters become session variables, which the views of `session/` read. */
export async function prepareSession(
  file: PublishedFile,
  filters: AppliedFilters,
  counted: Counted | undefined,
): Promise<Prepared> {
  await setVariable(file, 'date_basis', filters.by);
  await setVariable(file, 'date_from', filters.from);
  await setVariable(file, 'date_to', filters.to);
  await setVariable(file, 'as_known_on', filters.asKnownOn);
  const known = await knownPartners(file, filters.partners);
  const partners = matchPartners(filters.partners, known);
  await setVariable(file, 'partners', partners.values);
  await file.run(filters.asKnownOn === null ? 'known-shipments' : 'base-as-known-on');
  await file.run('known-tenants');
  const [tenants] = await file.cachedRows('tenants-are-plain');
  const arePlain = tenants?.are_plain === true;
  await file.run(arePlain ? 'no-labels' : 'tenant-labels');
  await file.run('known-invoices');
  const matches = [...partners.matches, ...(await matchOthers(file, filters))];
  await file.run(arePlain ? 'base-plain' : 'base-labelled');
  await file.run('filtered-shipments');
  const row = (await file.cachedRows('publication'))[0] ?? {};
  const publication = Number(row.sequence ?? 0);
  await file.run('weighed');
  const all = await levelsIn(file, filters, partners.values);
  let counting: Promise<readonly LevelCount[]> | undefined;
  const count = (): Promise<readonly LevelCount[]> => {
    counting ??=
      counted?.publication === publication
        ? Promise.resolve(counted.counts)
        : file.run('head').then((head) => withLevels(all, head.convertRowObjects(jsonValue)));
    return counting;
  };
  const level = filters.level ?? chooseLevel(all);
  await setVariable(file, 'levels', levelsOf(level));
  for (const view of ['loaded-shipments', 'selected-shipments'] as const) await file.run(view);
  const asOf = typeof row.published_at === 'string' ? row.published_at : 'unknown';
  let ofFilters: Promise<Completeness> | undefined;
  const completeness = (days?: Days): Promise<Completeness> => {
    if (days !== undefined) return completenessOf(file, days, { filters, asOf });
    ofFilters ??= completenessOf(file, filters, { filters, asOf });
    return ofFilters;
  };
  return {
    ...{ level, count, completeness, all, publication, matches, asOf },
    asKnownOn: filters.asKnownOn,
    partners: partnersOf(known, partners.values),
  };
}

async function matchOthers(file: PublishedFile, filters: AppliedFilters): Promise<readonly FilterMatch[]> {
  const tenants = await matchTenants(file, filters.tenants);
  await setVariable(file, 'tenants', tenants.values);
  const matches = [...tenants.matches];
  for (const filter of ['carriers', 'zones', 'currencies'] as const) {
    const named = await matchNames(file, filter, filters[filter]);
    await setVariable(file, filter, named.values);
    matches.push(...named.matches);
  }
  return matches;
}

function partnersOf(
  known: readonly Partner[],
  selected: readonly string[] | null,
): readonly (string | null)[] {
  const named = known.filter(({ key }) => key !== '');
  if (selected !== null) return selected;
  // With one partner, rows without a partner are that partner's; with several, their partner is unknown.
  return named.length <= 1 ? [named[0]?.key ?? null] : known.map(({ key }) => key);
}

/** Restricts the views of the session to one of the prepared partners. */
export async function selectPartner(file: PublishedFile, partner: string): Promise<void> {
  await setVariable(file, 'partners', [partner]);
  // Tables that are kept while the filters stay the same hold the previous partner's rows.
  for (const table of ['invoiced_months', 'monthly_prices', 'repeated_lines'])
    await file.query(`drop table if exists ${table}`);
}

/** Selects all requested partners again. */
export async function selectPartners(
  file: PublishedFile,
  { partners }: Pick<Prepared, 'partners'>,
): Promise<void> {
  await setVariable(file, 'partners', partners.map(String));
}

/** Null, an empty list and an unset variable mean "all". */
async function setVariable(
  file: PublishedFile,
  name: string,
  value: string | null | readonly string[],
): Promise<void> {
  if (value === null || value.length === 0) return;
  const bound: DuckDBValue = typeof value === 'string' ? value : listValue([...value]);
  await file.query(`set variable ${name} = $value`, { value: bound });
}

/**
 * Views that only some reports read, by the SQL that needs them: each takes a millisecond or two. In order of creation: a later
 * one may read those before it.
 */
const SHARED_BY_REPORTS = {
  'undated-shipments': /\b(undated_shipments|accrual_estimates)\b/,
  'tenant-shipments': /\b(tenant_shipments|price_moves)\b/,
  prices: /\b(prices\(|cell_prices|monthly_prices|price_moves)/,
  'cell-prices': /\bcell_prices\b/,
  'filtered-invoices': /\b(selected_invoices|invoice_currencies|invoices_owed)\b/,
  'selected-invoices': /\b(selected_invoices|invoice_currencies|invoices_owed)\b/,
  'line-faults': /\b(line_faults|faulty_lines)\b/,
  'faulty-lines': /\bfaulty_lines\b/,
  'voided-shipments': /\bvoided_shipments\b/,
  'files-on': /\bfiles_on\b/,
  invoiced: /\b(invoiced\(|invoiced_months)/,
  'invoiced-months': /\binvoiced_months\b/,
  'billed-by': /\bbilled_by\b/,
  'repeated-lines': /\b(repeated_lines|repeats_by)\b/,
  'repeats-by': /\brepeats_by\b/,
  'invoice-currencies': /\b(invoice_currencies|invoices_owed)\b/,
  'invoice-totals': /\b(invoice_totals|invoices_owed)\b/,
  'invoices-owed': /\binvoices_owed\b/,
  'monthly-prices': /\bmonthly_prices\b/,
  'followed-prices': /\bprice_moves\b/,
  'price-moves': /\bprice_moves\b/,
  'rate-day': /\brated_cells\b/,
  'rated-cells': /\brated_cells\b/,
  'shipped-months': /\baccrual_estimates\b/,
  'accrual-estimates': /\baccrual_estimates\b/,
} as const;

type Shared = keyof typeof SHARED_BY_REPORTS;

export async function createSharedViews(file: PublishedFile, sql: string): Promise<void> {
  for (const [shared, isRead] of Object.entries(SHARED_BY_REPORTS) as [Shared, RegExp][]) {
    if (!isRead.test(sql)) continue;
    const areKept = shared === 'followed-prices' && SHARED_BY_REPORTS['monthly-prices'].test(sql);
    await file.run(areKept ? 'followed-prices-kept' : shared);
  }
}

/** Whether a report lists invoices rather than shipments. */
export function readsInvoices(sql: string): boolean {
  return SHARED_BY_REPORTS['selected-invoices'].test(sql);
}

/** Whether a report shows states of invoices, which are published as they are now only. */
export function readsStates(sql: string): boolean {
  return readsInvoices(sql) || /\bknown_invoices\b/.test(sql);
}
