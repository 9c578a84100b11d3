/** Tenants and partners match by id or name, all values in any case. */

import { nearestNames } from '../lib/config/did-you-mean.ts';
import { markOfShortName, shortName } from '../lib/text.ts';
import { invalidFilter } from './errors.ts';
import type { PublishedFile } from './open-published-file.ts';
import type { AppliedFilters } from './report-filters.ts';

export interface FilterMatch {
  readonly filter: 'partner' | 'tenant' | 'carrier' | 'zone' | 'currency';
  readonly given: string;
  /** The matches in the file's spelling, a tenant or partner with its id; the list is empty when nothing matches. */
  readonly matched: readonly string[];
  readonly nearest: readonly string[];
}

export interface MatchedValues {
  readonly values: readonly string[] | null;
  readonly matches: readonly FilterMatch[];
}

interface Candidate {
  readonly key: string;
  readonly label: string;
  readonly ids: readonly string[];
  readonly names: readonly string[];
}

type Named = 'carriers' | 'zones' | 'currencies';
const SINGULAR = { carriers: 'carrier', zones: 'zone', currencies: 'currency' } as const;

export interface Partner {
  /** The id that is compared; '' for invoices without a known partner. */
  readonly key: string;
  readonly name: string | null;
}

export async function knownPartners(file: PublishedFile): Promise<readonly Partner[]> {
  return (await file.cachedRows('partners')).map((row) => ({
    key: textOf(row.partner_id) ?? '',
    name: textOf(row.partner),
  }));
}

export function matchPartners(
  given: AppliedFilters['partners'],
  partners: readonly Partner[],
): MatchedValues {
  const candidates = partners
    .filter(({ key }) => key !== '')
    .map(({ key, name }) => candidateOf(key, name ?? key, key, name === null ? [key] : [name, key]));
  return match('partner', given, candidates);
}

/** Finds tenants by id, the partner's id, or any present or former name; an exact spelling wins. */
export async function matchTenants(
  file: PublishedFile,
  given: AppliedFilters['tenants'],
): Promise<MatchedValues> {
  if (given.length === 0) return { values: null, matches: [] };
  const candidates = new Map<string, Candidate>();
  for (const row of await file.run('tenants-known')) {
    const key = String(row.tenant_key);
    const ids = [row.tenant_id, row.partner_tenant_id].flatMap((id) => textOf(id) ?? []);
    const names = [String(row.tenant), ...((JSON.parse(textOf(row.names) ?? '[]') ?? []) as string[])];
    // A tenant without id may be known from its invoices and from its rows.
    const before = candidates.get(key);
    const candidate = candidateOf(key, String(row.label), textOf(row.tenant_id), [...new Set(names)]);
    candidates.set(key, { ...candidate, ids: [...(before?.ids ?? []), ...ids] });
  }
  return match('tenant', given, [...candidates.values()]);
}

export async function matchNames(
  file: PublishedFile,
  filter: Named,
  given: readonly string[],
): Promise<MatchedValues> {
  if (given.length === 0) return { values: null, matches: [] };
  // Currencies are those of the selected partners, other names those of all files.
  const rows =
    filter === 'currencies' ? await file.run('currencies-known') : await file.cachedRows(`${filter}-known`);
  const known = rows.map((row) => String(row.value));
  return match(
    SINGULAR[filter],
    given,
    known.map((value) => candidateOf(value, value, null, [value])),
  );
}

function match(
  filter: FilterMatch['filter'],
  given: readonly string[],
  candidates: readonly Candidate[],
): MatchedValues {
  if (given.length === 0) return { values: null, matches: [] };
  const keys = new Set<string>();
  const matches = given.map((value): FilterMatch => {
    const found = candidatesFor(filter, value, candidates);
    for (const { key } of found) keys.add(key);
    const nearest =
      found.length > 0 ? [] : nearestNames(value, [...new Set(candidates.flatMap(({ names }) => names))]);
    return { filter, given: value, matched: found.map(({ label }) => label), nearest };
  });
  // An empty list would mean all, so the list gets a key that cannot exist.
  return { values: keys.size > 0 ? [...keys] : ['\u0000'], matches };
}

/**
 * An exact spelling of a tenant or partner matches only itself; all spellings of a carrier are one carrier.
 */
function candidatesFor(
  filter: FilterMatch['filter'],
  value: string,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const by = (isMeant: (text: string) => boolean): readonly Candidate[] =>
    candidates.filter(({ ids, names }) => [...ids, ...names].some(isMeant));
  const mark = markOfShortName(value);
  const shortened = mark === null ? [] : by((text) => markOfShortName(shortName(text)) === mark);
  if (shortened.length > 0) return shortened;
  const folded = by((text) => text.toLowerCase() === value.toLowerCase());
  if (filter !== 'tenant' && filter !== 'partner') return folded;
  const exact = by((text) => text === value);
  return exact.length > 0 ? exact : folded;
}

/**
 * A misspelt name must not look like a month without shipments. @throws ReportError with the nearest names
 */
export function requireMatches(matches: readonly FilterMatch[]): void {
  const unmatched = matches.filter(({ matched }) => matched.length === 0);
  const [first] = unmatched;
  if (first !== undefined) throw invalidFilter(matchNotes(unmatched).join(' '));
}

export function matchNotes(matches: readonly FilterMatch[]): string[] {
  return matches.flatMap(({ filter, given, matched, nearest }) => {
    if (matched.length === 0) return [`No ${filter} is "${given}"${nearestText(nearest)}.`];
    if (matched.length === 1 && matched[0] === given) return [];
    return [
      `The ${filter} "${given}" is ${matched.map((name) => (name === '' ? '(none)' : name)).join(' and ')}.`,
    ];
  });
}

export function nearestText(nearest: readonly string[]): string {
  if (nearest.length === 0) return '';
  return `; the nearest ${nearest.length === 1 ? 'is' : 'are'} ${nearest.join(' and ')}`;
}

function candidateOf(key: string, name: string, id: string | null, names: readonly string[]): Candidate {
  const label = id === null || name.includes(id) ? name : `${name} (${id})`;
  return { key, label, ids: id === null ? [] : [id], names };
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
