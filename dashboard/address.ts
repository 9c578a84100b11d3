import type { FastifyRequest } from 'fastify';
import { shortName } from '../lib/text.ts';
import { comparedPeriod as comparedPeriodOf, type Period } from '../reports/period.ts';
import type { ReportFilters } from '../reports/report-filters.ts';

export type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Returns the last value of the field; an empty value counts as not given, since a form sends every field. */
export function lastValue(query: Query, name: string): string | undefined {
  const value = query[name];
  const last = typeof value === 'string' ? value : value?.at(-1);
  return last === '' ? undefined : last;
}

/** Returns all values of the field, empty ones too: for a zone, an empty value means "none given". */
export function allValues(query: Query, name: string): readonly string[] {
  const value = query[name];
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

export function pageNumber(query: Query): number {
  const number = Number(lastValue(query, 'page') ?? '1');
  return Number.isSafeInteger(number) && number >= 1 && number <= 100_000 ? number : 1;
}

/** Addresses of the previous and the next page of a list; null where there is none. */
export function pagesBeside(page: number, isLast: boolean, to: (page: string) => string) {
  return {
    previous: page > 1 ? to(String(page - 1)) : null,
    next: isLast ? null : to(String(page + 1)),
  };
}

/** Values are not checked; an empty value is no filter, except for zones. */
export function filtersOf(query: Query): ReportFilters {
  return {
    from: lastValue(query, 'from'),
    to: lastValue(query, 'to'),
    period: lastValue(query, 'period'),
    by: lastValue(query, 'by'),
    level: lastValue(query, 'level'),
    asKnownOn: lastValue(query, 'as_known_on'),
    partners: allValues(query, 'partner').filter((value) => value !== ''),
    tenants: allValues(query, 'tenant').filter((value) => value !== ''),
    carriers: allValues(query, 'carrier').filter((value) => value !== ''),
    zones: allValues(query, 'zone'),
    currencies: allValues(query, 'currency').filter((value) => value !== ''),
  };
}

export function filtersIn(query: Query): Query {
  const given = FILTERS.map((name) => [name, allValues(query, name)] as const);
  return Object.fromEntries(given.filter(([, values]) => values.length > 0));
}

const FILTERS = [
  ...['from', 'to', 'period', 'by', 'level', 'as_known_on'],
  ...['partner', 'tenant', 'carrier', 'zone', 'currency'],
];

/** The period as a query; the text is empty when all dates are chosen. */
export function periodOf(query: Query): string {
  const days = ['from', 'to', 'period', 'by'].map((name) => [name, lastValue(query, name)] as const);
  return withQuery('', Object.fromEntries(days.filter(([, day]) => day !== undefined))).slice(1);
}

/** @param fields null removes a field of the path; an empty field is dropped */
export function withQuery(
  path: string,
  query: Query,
  changes: Readonly<Record<string, string | null>> = {},
): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(query)) {
    if (Object.hasOwn(changes, name)) continue;
    for (const value of allValues(query, name))
      if (value !== '' || emptyMeansNone(name)) parameters.append(name, shortValue(name, value));
  }
  for (const [name, value] of Object.entries(changes))
    if (value !== null) parameters.append(name, shortValue(name, value));
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

function shortValue(name: string, value: string): string {
  return NAMING.includes(name) || name.startsWith('is_') ? shortName(value) : value;
}

const NAMING: readonly string[] = ['partner', 'tenant', 'carrier', 'zone'];

function emptyMeansNone(name: string): boolean {
  return name === 'zone' || name.startsWith('is_');
}

export function comparedPeriod(query: Query): Period | null {
  const compare = lastValue(query, 'compare');
  return compare === undefined ? null : comparedPeriodOf(compare, filtersOf(query));
}

export function isForPrograms({ query }: Pick<FastifyRequest, 'query'>): boolean {
  return lastValue(query as Query, 'format') === 'json';
}

export function addressOfPage({ url, query }: Pick<FastifyRequest, 'url' | 'query'>): string {
  return withQuery(url.split('?')[0] ?? '', query as Query, { format: null });
}
