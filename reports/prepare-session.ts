/** Makes the session that reports run in: what the filters mean in this file, the views that apply them, and the head. */

import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { jsonValue } from '../lib/duckdb-values.ts';
import { type Completeness, completenessOf, type Days } from './completeness.ts';
import { levelsIn, withLevels } from './count-levels.ts';
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
import { chooseLevel, type LevelCount, type LevelSize, levelsOf } from './report-head.ts';

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

function partnersOf(known: readonly Partner[], asked: readonly string[] | null): readonly (string | null)[] {
  const named = known.filter(({ key }) => key !== '');
  if (asked !== null) return asked;
  // With one partner, rows without a partner are that partner's; with several, nobody knows whose they are.
  return named.length <= 1 ? [named[0]?.key ?? null] : known.map(({ key }) => key);
}

/** From now on the session's views show one partner's, out of those that were prepared. */
export async function showPartner(file: PublishedFile, partner: string): Promise<void> {
  await setVariable(file, 'partners', [partner]);
  // Tables that are kept while the filters stay the same hold the previous partner's rows.
  for (const table of ['invoiced_months', 'monthly_prices', 'repeated_lines'])
    await file.query(`drop table if exists ${table}`);
}

/** The session's views show all partners that were asked for again. */
export async function showPartners(
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
