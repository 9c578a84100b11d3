/** Makes the session that reports run in: what the filters mean in this file, the views that apply them, and the head. */

import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { jsonValue } from '../lib/duckdb-values.ts';
import { type Completeness, completenessOf, type Days } from './completeness.ts';
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

/** What stands in a publication by level when nothing is filtered; many sessions of one publication can share it. */
export interface Counted {
  readonly publication: number;
  readonly counts: readonly LevelCount[];
}

export interface Prepared {
  readonly publication: number;
  readonly level: ReportLevel;
  /** What passes the filters, by level; read once, for who asks for it. */
  readonly count: () => Promise<readonly LevelCount[]>;
  /** Whether some days are whole; those of the filters are found once. */
  readonly completeness: (days?: Days) => Promise<Completeness>;
  /** What there is by level, whatever the filters. */
  readonly all: readonly LevelSize[];
  readonly asOf: string;
  /** As the filter says it; null: as it is now. */
  readonly asKnownOn: string | null;
  readonly matches: readonly FilterMatch[];
  /** Whose rows a report answers, one after the other; the only one is null when the file knows none. */
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
  // With one partner, rows without a partner are that partner's; with several, nobody knows whose they are.
  return named.length <= 1 ? [named[0]?.key ?? null] : known.map(({ key }) => key);
}

/** From now on the session's views show one partner's, out of those that were prepared. */
export async function selectPartner(file: PublishedFile, partner: string): Promise<void> {
  await setVariable(file, 'partners', [partner]);
  // Tables that are kept while the filters stay the same hold the previous partner's rows.
  for (const table of ['invoiced_months', 'monthly_prices', 'repeated_lines'])
    await file.query(`drop table if exists ${table}`);
}

/** The session's views show all partners that were selected for again. */
export async function selectPartners(
  file: PublishedFile,
  { partners }: Pick<Prepared, 'partners'>,
): Promise<void> {
  await setVariable(file, 'partners', partners.map(String));
}

/** An empty list means "all", as null does, and as a variable does that was never set. */
async function setVariable(
  file: PublishedFile,
  name: string,
  value: string | null | readonly string[],
): Promise<void> {
  if (value === null || value.length === 0) return;
  const bound: DuckDBValue = typeof value === 'string' ? value : listValue([...value]);
  await file.query(`set variable ${name} = $value`, { value: bound });
}

/** In the order in which they are made: a later one may read those before it. */
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

/** Makes what a report reads, of the filters that the session has. */
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
