import { type DuckDBValue, listValue } from '@duckdb/node-api';
import { statementsIn } from '../lib/sql-file.ts';
import { completenessOf } from './completeness.ts';
import {
  type FilterMatch,
  knownPartners,
  matchNames,
  matchPartners,
  matchTenants,
  type Partner,
} from './match-filters.ts';
import { type PublishedFile, SHARED_FILES } from './open-published-file.ts';
import type { Days } from './period.ts';
import type { AppliedFilters, ReportLevel } from './report-filters.ts';
import type { Completeness } from './report-result.ts';

export interface LevelSize {
  /** The level is `tenant`, `partner` or `unknown` (imported without details). */
  readonly level: string;
  readonly allShipments: number;
  readonly allInvoices: number;
}

export interface LevelCount extends LevelSize {
  readonly shipments: number;
  readonly invoices: number;
  readonly inPounds: number;
  readonly inKilograms: number;
  readonly proved: number;
  readonly contradictedInvoices: number;
  readonly announcedInvoices: number;
}

export interface Prepared {
  readonly filters: AppliedFilters;
  readonly publication: number;
  readonly level: ReportLevel;
  /** Counts of each level with the filters, which are read once. */
  readonly count: () => Promise<readonly LevelCount[]>;
  /** Returns the completeness of the given days, by default of the filters' period; it is computed once. */
  readonly completeness: (days?: Days) => Promise<Completeness>;
  readonly all: readonly LevelSize[];
  readonly asOf: string;
  readonly matches: readonly FilterMatch[];
  /** The partners, for each of which a report runs; null when the file has none. */
  readonly partners: readonly (string | null)[];
}

export async function prepareSession(file: PublishedFile, filters: AppliedFilters): Promise<Prepared> {
  await setVariable(file, 'date_basis', filters.by);
  await setVariable(file, 'date_from', filters.from);
  await setVariable(file, 'date_to', filters.to);
  await setVariable(file, 'as_known_on', filters.asKnownOn);
  const known = await knownPartners(file);
  const partners = matchPartners(filters.partners, known);
  await setVariable(file, 'partners', partners.values);
  await file.run(filters.asKnownOn === null ? 'shipments-as-published' : 'shipments-as-known-on');
  await file.run('tenant-labels');
  const [labels] = await file.run('tenant-label-count');
  await file.run('known-invoices');
  const matches = [...partners.matches, ...(await matchFilters(file, filters))];
  await file.run(Number(labels?.labels) === 0 ? 'base-plain' : 'base-labelled');
  for (const view of ['described-shipments', 'filtered-shipments']) await file.run(view);
  const row = (await file.cachedRows('publication'))[0] ?? {};
  const publication = Number(row.sequence ?? 0);
  const all = await levelsIn(file, filters, partners.values);
  let counting: Promise<readonly LevelCount[]> | undefined;
  const count = (): Promise<readonly LevelCount[]> => {
    const counted = { ...filters, level: null };
    counting ??= file
      .cached(`head ${JSON.stringify(counted)}`, () => file.run('head'))
      .then((rows) => withCounts(all, rows));
    return counting;
  };
  const level = filters.level ?? chooseLevel(all);
  await setVariable(file, 'levels', levelsOf(level));
  for (const view of ['loaded-shipments', 'selected-shipments']) await file.run(view);
  const asOf = typeof row.published_at === 'string' ? row.published_at : 'unknown';
  let ofFilters: Promise<Completeness> | undefined;
  const completeness = (days?: Days): Promise<Completeness> => {
    if (days !== undefined) return completenessOf(file, days, { filters, asOf });
    ofFilters ??= completenessOf(file, filters, { filters, asOf });
    return ofFilters;
  };
  const selected = partnersOf(known, partners.values);
  return { filters, level, count, completeness, all, publication, matches, asOf, partners: selected };
}

async function matchFilters(file: PublishedFile, filters: AppliedFilters): Promise<readonly FilterMatch[]> {
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
  if (selected !== null) return selected;
  return known.length === 0 ? [null] : known.map(({ key }) => key);
}

export async function selectPartner(file: PublishedFile, partner: string): Promise<void> {
  await setVariable(file, 'partners', [partner]);
  // Shared temporary tables hold the rows of the previous partner.
  for (const [name, statement] of SHARED)
    if (/^create temp table/m.test(statement)) await file.query(`drop table if exists ${objectOf(name)}`);
}

export async function selectPartners(
  file: PublishedFile,
  { partners }: Pick<Prepared, 'partners'>,
): Promise<void> {
  await setVariable(file, 'partners', partners.map(String));
}

/** A filter that is null, an empty list or an unset variable matches all rows. */
async function setVariable(
  file: PublishedFile,
  name: string,
  value: string | null | readonly string[],
): Promise<void> {
  if (value === null || value.length === 0) return;
  const bound: DuckDBValue = typeof value === 'string' ? value : listValue([...value]);
  await file.query(`set variable ${name} = $value`, { value: bound });
}

/** @param partners null means all partners, '' the invoices without a known partner */
async function levelsIn(
  file: PublishedFile,
  { asKnownOn }: AppliedFilters,
  partners: readonly string[] | null,
): Promise<readonly LevelSize[]> {
  const rows = await (asKnownOn === null ? file.cachedRows('levels') : file.run('levels-as-known-on'));
  const selected = rows.filter((row) => partners?.includes(String(row.partner_id ?? '')) ?? true);
  return Array.from(
    Map.groupBy(selected, (row) => String(row.level)),
    ([level, group]) => ({
      level,
      allShipments: group.reduce((sum, row) => sum + Number(row.all_shipments), 0),
      allInvoices: group.reduce((sum, row) => sum + Number(row.all_invoices), 0),
    }),
  );
}

export function withCounts(
  all: readonly LevelSize[],
  rows: readonly Readonly<Record<string, unknown>>[],
): readonly LevelCount[] {
  return all.map((size) => {
    const row = rows.find(({ level }) => level === size.level) ?? {};
    return {
      ...size,
      shipments: Number(row.shipments ?? 0),
      invoices: Number(row.invoices ?? 0),
      inPounds: Number(row.in_pounds ?? 0),
      inKilograms: Number(row.in_kilograms ?? 0),
      proved: Number(row.proved ?? 0),
      contradictedInvoices: Number(row.contradicted_invoices ?? 0),
      announcedInvoices: Number(row.announced_invoices ?? 0),
    };
  });
}

/** Chooses the partner level only when no other invoices exist. */
function chooseLevel(counts: readonly LevelSize[]): ReportLevel {
  const loaded = counts.filter((count) => count.allShipments > 0);
  const known = loaded.length > 0 ? loaded : counts.filter((count) => count.allInvoices > 0);
  return known.length > 0 && known.every(({ level }) => level === 'partner') ? 'partner' : 'tenant';
}

/** An unknown level counts as tenant level. */
export function levelsOf(level: ReportLevel): readonly string[] {
  if (level === 'all') return ['tenant', 'unknown', 'partner'];
  return level === 'partner' ? ['partner'] : ['tenant', 'unknown'];
}

/** Shared tables in the order of their creation, since a later one may read those before it. */
const SHARED = new Map(SHARED_FILES.flatMap((file) => [...statementsIn(file)]));

/** The statement `cell-prices` creates the view, macro or table `cell_prices`. */
function objectOf(statement: string): string {
  return statement.replaceAll('-', '_');
}

export async function createSharedViews(file: PublishedFile, sql: string): Promise<void> {
  for (const name of sharedStatementsFor(sql)) await file.run(name);
}

function sharedStatementsFor(sql: string): readonly string[] {
  const needed = new Set<string>();
  const add = (text: string): void => {
    const code = text.replaceAll(/--.*$/gm, '');
    for (const [name, statement] of SHARED) {
      if (needed.has(name) || !new RegExp(`\\b${objectOf(name)}\\b`).test(code)) continue;
      needed.add(name);
      add(statement);
    }
  };
  add(sql);
  return [...SHARED.keys()].filter((name) => needed.has(name));
}
