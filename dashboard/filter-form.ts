import { shortName } from '../lib/text.ts';
import { reportColumn } from '../reports/cells.ts';
import { isReportError } from '../reports/errors.ts';
import { daysName, type Period, parsePeriod, periodBounds, periodText, shiftDay } from '../reports/period.ts';
import { columnLabel } from '../reports/render/labels.ts';
import { DATE_BASES, REPORT_LEVELS } from '../reports/report-filters.ts';
import { allValues, filtersOf, lastValue, type Query, withQuery } from './address.ts';
import { type PageContext, readPublished } from './page-context.ts';

const CHOICES = [
  { filter: 'carriers', name: 'carrier', label: 'Carrier' },
  { filter: 'tenants', name: 'tenant', label: 'Tenant' },
  { filter: 'zones', name: 'zone', label: 'Zone' },
  { filter: 'currencies', name: 'currency', label: 'Currency' },
  { filter: 'partners', name: 'partner', label: 'Partner' },
] as const;

export type Choices = Readonly<Record<(typeof CHOICES)[number]['filter'], readonly string[]>> & {
  /** Names of tenants and partners by their ids. */
  readonly names: ReadonlyMap<string, string>;
  /** How many values a filter has, by its name; the lists have the largest. */
  readonly known: ReadonlyMap<string, number>;
};

/** A file may have as many carriers or zones as lines; a page with all of them would have a hundred megabytes. */
const MAX_CHOICES = 200;

export function choicesOf(context: PageContext): Promise<Choices> {
  return context.cache.present('choices', async () => {
    const { rows, names } = await readPublished(context, async (run) => ({
      rows: await run('choices', { most: MAX_CHOICES }),
      names: await run('names-of-ids'),
    }));
    const valuesOf = (filter: string): string[] =>
      rows.filter((row) => row.filter === filter).map((row) => shortName(String(row.value)));
    return {
      ...{ carriers: valuesOf('carriers'), tenants: valuesOf('tenants'), zones: valuesOf('zones') },
      ...{ currencies: valuesOf('currencies'), partners: valuesOf('partners') },
      names: new Map(names.map(({ id, name }) => [String(id), shortName(String(name))])),
      known: new Map(rows.map(({ filter, known }) => [String(filter), Number(known)])),
    };
  });
}

export async function filterFields(
  context: PageContext,
  { query, path }: { readonly query: Query; readonly path: string },
): Promise<Readonly<Record<string, unknown>>> {
  const choices = await choicesOf(context);
  return {
    ...{ path, bases: DATE_BASES, levels: REPORT_LEVELS, filters: filtersOf(query) },
    ...periodMenu(query, path),
    chips: chipsOf(query, path, choices.names),
    choices: CHOICES.map(({ filter, name, label }) => ({
      ...{ name, label, chosen: allValues(query, name) },
      // A chosen value stays offered, even when the file no longer contains it.
      values: [...new Set([...choices[filter], ...allValues(query, name).filter((value) => value !== '')])],
      ...{ listed: choices[filter].length, known: choices.known.get(filter) ?? 0 },
    })).filter(({ values }) => values.length > 0),
  };
}

/** Fields for what a form's lists leave out. A field without a text must not choose the lines without a zone. */
export function mergeTypedFields(query: Query): Query {
  const typed = CHOICES.filter(({ name }) => allValues(query, `other_${name}`).some((value) => value !== ''));
  const merged = typed.map(({ name }) => [
    name,
    [...allValues(query, name), ...allValues(query, `other_${name}`).filter(Boolean)],
  ]);
  const others = Object.entries(query).filter(([name]) => !name.startsWith('other_'));
  return withTypedComparison({ ...Object.fromEntries(others), ...Object.fromEntries(merged) });
}

/** Two typed days count unless the list of comparisons was changed; one day waits for the other. */
function withTypedComparison({ compare_was: was, ...query }: Query): Query {
  if (was === undefined) return query;
  const { compare_from: from, compare_to: to, ...others } = query;
  if ((lastValue(query, 'compare') ?? '') !== was) return others;
  return from && to ? { ...others, compare: `${from}..${to}` } : query;
}

const COMPARED: readonly (readonly [value: string, label: string])[] = [
  ['', 'No comparison'],
  ['previous', 'Against the period before'],
  ['last-year', 'Against a year earlier'],
];

/** @param usual the comparison of a page that always compares; by default none */
export function comparisonFields(query: Query, usual = '') {
  const compare = lastValue(query, 'compare') ?? usual;
  const months = recentMonths(new Date()).map(
    ({ label, from }) => [from.slice(0, 7), `Against ${label}`] as const,
  );
  const offered = [...COMPARED.filter(([value]) => value !== '' || usual === ''), ...months];
  const [, from, to] = /^(\S+?)\.\.(\S+)$/.exec(compare) ?? [];
  const label = from !== undefined && to !== undefined ? `Against ${from} to ${to}` : compare;
  const isOffered = offered.some(([value]) => value === compare);
  return {
    compare,
    comparisons: isOffered ? offered : [...offered, [compare, label] as const],
    ...{
      compareFrom: lastValue(query, 'compare_from') ?? from,
      compareTo: lastValue(query, 'compare_to') ?? to,
    },
  };
}

export function periodMenu(query: Query, path: string) {
  const { from, to } = daysIn(query);
  const presets: readonly (Partial<Period> & { readonly label: string })[] = [
    { label: 'All dates' },
    ...presetsOf(new Date()),
  ];
  return {
    ...{ from, to },
    period:
      from !== undefined && to !== undefined
        ? daysName({ from, to })
        : periodText({ from: from ?? null, to: to ?? null }).replace(/^a/, 'A'),
    presets: presets.map((preset) => ({
      label: preset.label,
      address: withQuery(path, query, {
        ...{ from: preset.from ?? null, to: preset.to ?? null, period: null },
        ...{ after: null, page: null, format: null },
        ...(preset.from === undefined ? { compare: null } : {}),
      }),
      isChosen: from === preset.from && to === preset.to,
    })),
  };
}

/** Days are in UTC, as reports count them. */
export function presetsOf(now: Date): readonly (Period & { readonly label: string })[] {
  const today = now.toISOString().slice(0, 10);
  const [year = '', month = ''] = today.split('-');
  const preset = (label: string, period: string) => ({ label, ...parsePeriod(period, now) });
  const { to: endOfLastMonth } = parsePeriod('last-month', now);
  return [
    preset('Last full week', 'last-week'),
    preset('This month', `${year}-${month}`),
    preset('Last month', 'last-month'),
    ...recentMonths(now).slice(1),
    preset('This quarter', `${year}-Q${Math.ceil(Number(month) / 3)}`),
    preset('Last quarter', 'last-quarter'),
    { label: 'Last 90 days', from: shiftDay(today, -90), to: shiftDay(today, -1) },
    { label: 'Year to date', from: `${year}-01-01`, to: today },
    preset('This year', year),
    { label: 'Last 12 months', from: `${Number(year) - 1}-${month}-01`, to: endOfLastMonth },
  ];
}

const RECENT_MONTHS = 6;

/** Complete months, the latest one first. */
export function recentMonths(now: Date): readonly (Period & { readonly label: string })[] {
  return Array.from({ length: RECENT_MONTHS }, (_, at) => {
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1 - at, 1)).toISOString();
    const period = parsePeriod(first.slice(0, 7));
    return { ...period, label: daysName(period) };
  });
}

/** Returns nothing for an invalid period, which the page reports in another place. */
function daysIn(query: Query): Partial<Period> {
  try {
    const { from, to } = periodBounds(filtersOf(query));
    return { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) };
  } catch (error) {
    if (isReportError(error, 'invalid-filter')) return {};
    throw error;
  }
}

function chipsOf(query: Query, path: string, names: Choices['names']) {
  const chip = (label: string, name: string, value: string, none: string) => {
    const others = allValues(query, name).filter((each) => each !== value);
    return {
      ...{ label, value: value === '' ? none : (names.get(value) ?? value) },
      without: withQuery(path, { ...query, [name]: others, after: [], page: [] }),
    };
  };
  const chosen = [
    ...CHOICES,
    { name: 'level', label: 'Level' },
    { name: 'as_known_on', label: 'As known on' },
  ];
  const exact = Object.keys(query)
    .filter((name) => name.startsWith('is_'))
    .map((name) => ({ name, label: labelOf(name.slice('is_'.length)) }));
  return [
    ...chosen.flatMap(({ name, label }) =>
      allValues(query, name)
        .filter((value) => value !== '' || name === 'zone')
        .map((value) => chip(label, name, value, '(none given)')),
    ),
    ...exact.flatMap(({ name, label }) =>
      allValues(query, name).map((value) => chip(label, name, value, '(none)')),
    ),
  ];
}

export function labelOf(name: string): string {
  return columnLabel(reportColumn(name));
}
